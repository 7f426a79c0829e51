package wire

// Answers and requests of the four protocols, in the forms in which servers and programs
// write them.
var answers4 = map[Protocol][]string{
	Responses: {
		`{"id":"resp_1","object":"response","status":"completed","model":"m","output":[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAAA"},{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"I read both.","annotations":[],"logprobs":[]}]},{"type":"function_call","id":"fc_1","call_id":"a","namespace":"mcp__world","name":"read","arguments":"{\"id\":\"A\"}","status":"completed"},{"type":"custom_tool_call","id":"ctc_1","call_id":"b","name":"patch","input":"*** Begin"}],"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":2}}}`,
		`{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}},{"type":"message","id":"msg_1","content":[{"type":"refusal","refusal":"No."}]}]}`,
		`{"status":"completed","output":[{"type":"local_shell_call","id":"ls_1","call_id":"c","action":{"type":"exec","command":["ls"]},"status":"completed"}]}`,
	},
	ChatCompletions: {
		`{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"I read both.","reasoning_content":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{\"id\":\"A\"}"}},{"id":"b","type":"function","function":{"name":"read","arguments":"{\"id\":"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}`,
		`{"choices":[{"message":{"content":"<think>hm</think>\n\nAll is done."},"finish_reason":"stop"}]}`,
		`{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"thinking","thinking":[{"text":"t"}]}],"reasoning_details":[{"type":"reasoning.text","index":0,"text":"x"}]},"finish_reason":"length"},{"index":1}]}`,
		`{"choices":[{"message":{"content":null,"function_call":{"name":"read","arguments":"{}"}},"finish_reason":"function_call"}]}`,
	},
	Messages: {
		`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"I read both.","citations":null},{"type":"tool_use","id":"a","name":"read","input":{"id":"A"}},{"type":"redacted_thinking","data":"x"},{"type":"tool_use","id":"b","name":"read","input":{}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":5,"cache_read_input_tokens":4,"output_tokens":7}}`,
		`{"type":"message","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":1}},{"type":"text","text":"a","citations":[{"type":"x"}]},{"type":"text","text":"b"}],"stop_reason":"end_turn"}`,
		`{"type":"message","content":[],"stop_reason":"refusal","stop_details":{"explanation":"No."}}`,
	},
	GenerateContent: {
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"hm","thought":true},{"text":"I read "},{"text":"both."},{"functionCall":{"id":"a","name":"read","args":{"id":"A"}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"read"}}]},"finishReason":"STOP","index":0}],"modelVersion":"m","usageMetadata":{"promptTokenCount":9,"cachedContentTokenCount":4,"candidatesTokenCount":5,"thoughtsTokenCount":2}}`,
		`{"candidates":[{"content":{"parts":[{"text":"a","thoughtSignature":"x"},{"text":"b"},{"executableCode":{"code":"1"}}]},"finishReason":"MAX_TOKENS"}]}`,
		`{"promptFeedback":{"blockReason":"SAFETY"}}`,
		`{"candidates":[{"finishReason":"SAFETY","finishMessage":"No."}]}`,
	},
}

var requests4 = map[Protocol][]string{
	Responses: {
		`{"model":"m","instructions":"Keep the records.","input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"d"}]},{"role":"user","content":"Compare."},{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"x"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I read."}]},{"type":"function_call","call_id":"a","name":"read","namespace":"mcp__world","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"{\"n\":1}"}],"tools":[{"type":"namespace","name":"mcp__world","description":"w","tools":[{"type":"function","name":"read","description":"Read.","parameters":{"type":"object"},"strict":false},{"type":"function","name":"write","parameters":{"type":"object"}}]},{"type":"function","name":"request_user_input","parameters":{"type":"object"}},{"type":"web_search"},{"type":"custom","name":"apply_patch","format":{"type":"grammar"}}],"stream":true,"store":false}`,
		`{"model":"m","input":"hello","previous_response_id":"resp_0"}`,
	},
	ChatCompletions: {
		`{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"u"}]},{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"1"}],"tools":[{"type":"function","function":{"name":"read","description":"Read.","parameters":{"type":"object"}}}],"stream":true,"stream_options":{"include_usage":true}}`,
	},
	Messages: {
		`{"model":"m","max_tokens":9,"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":"u"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"tool_use","id":"a","name":"read","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"1"}],"is_error":true}]}],"tools":[{"name":"read","description":"Read.","input_schema":{"type":"object"}},{"type":"web_search_20250305","name":"web_search"}],"stream":true}`,
	},
	GenerateContent: {
		`{"systemInstruction":{"parts":[{"text":"s"}]},"contents":[{"role":"user","parts":[{"text":"u"}]},{"role":"model","parts":[{"functionCall":{"id":"a","name":"read","args":{}},"thoughtSignature":"x"}]},{"role":"user","parts":[{"functionResponse":{"id":"a","name":"read","response":{"output":"1"}}}]}],"tools":[{"functionDeclarations":[{"name":"read","description":"Read.","parametersJsonSchema":{"type":"object"}}]},{"googleSearch":{}}]}`,
		`{"contents":[{"parts":[{"text":"u"}]}],"system_instruction":"s","tools":[{"function_declarations":[{"name":"a","parameters":{"type":"OBJECT"}}]}]}`,
	},
}
