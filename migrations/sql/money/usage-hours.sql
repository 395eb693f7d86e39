-- Adds inserted records to the hours of usage (trigger request_record_usage). Rows are added in one order, so that two
-- nodes that settle at once wait for one another and never in a circle. A name that no lane served is not kept.
CREATE OR REPLACE FUNCTION add_usage_hours() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO usage_hour AS u (hour, key_id, user_id, organisation_id, department_id, project_id, wallet_id, model, served_model, supplier,
    requests, failures, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, audio_tokens, image_tokens, cost_nano)
  SELECT date_trunc('hour', created_at, 'UTC') AS hour, key_id, user_id, organisation_id, department_id, project_id, wallet_id,
         CASE WHEN served_model IS NOT NULL THEN model END, served_model, supplier,
         count(*),
         count(code),
         sum(input_tokens),
         sum(cache_read_tokens),
         sum(cache_write_tokens::bigint + cache_write_long_tokens),
         sum(output_tokens),
         sum(reasoning_tokens),
         sum(audio_input_tokens::bigint + audio_output_tokens),
         sum(image_tokens),
         sum(cost_nano)
    FROM added GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
    ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
  ON CONFLICT ON CONSTRAINT usage_hour_once DO UPDATE SET
    requests = u.requests + excluded.requests,
    failures = u.failures + excluded.failures,
    input_tokens = u.input_tokens + excluded.input_tokens,
    cache_read_tokens = u.cache_read_tokens + excluded.cache_read_tokens,
    cache_write_tokens = u.cache_write_tokens + excluded.cache_write_tokens,
    output_tokens = u.output_tokens + excluded.output_tokens,
    reasoning_tokens = u.reasoning_tokens + excluded.reasoning_tokens,
    audio_tokens = u.audio_tokens + excluded.audio_tokens,
    image_tokens = u.image_tokens + excluded.image_tokens,
    cost_nano = u.cost_nano + excluded.cost_nano;
  RETURN NULL;
END $$;
