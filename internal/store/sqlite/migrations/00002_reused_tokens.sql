-- +goose Up
-- Of the tokens of all attempts, those of turns that a response cache answered.
ALTER TABLE trial ADD COLUMN reused_tokens INTEGER NOT NULL DEFAULT 0;
