-- +goose Up
-- Of input_tokens, those that the provider had seen before and charges less for.
ALTER TABLE trial ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0;
