-- Serves databases that were not migrated past 1763800700000; add_record_usage stands in its place since.
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

-- Adds inserted records to the hours of usage, and those with an end user or tags to the hours of labels.
CREATE OR REPLACE FUNCTION add_record_usage() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  -- Days that are summed already are summed again with what came late; a merge under way waits, or is waited for.
  IF EXISTS (SELECT FROM added WHERE created_at < now() - interval '2 hours') THEN
    PERFORM pg_advisory_xact_lock_shared(hashtext('usage_day'));
    DELETE FROM usage_day_merged WHERE day IN (SELECT date_trunc('day', created_at, 'UTC') FROM added);
  END IF;
  INSERT INTO usage_hour AS u (
    hour, key_id, user_id, organisation_id, department_id, project_id, wallet_id, model, served_model, supplier,
    region, key_model_id, requests, failures, failovers, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens,
    reasoning_tokens, audio_tokens, image_tokens, image_output_tokens, latency_ms, first_token_ms, first_tokens,
    cost_nano, highest_cost_nano, highest_latency_ms,
    latency_0, latency_1, latency_2, latency_3, latency_4, latency_5, latency_6, latency_7,
    latency_8, latency_9, latency_10, latency_11, latency_12, latency_13, latency_14, latency_15)
  SELECT date_trunc('hour', created_at, 'UTC'), key_id, user_id, organisation_id, department_id, project_id,
         wallet_id, CASE WHEN served_model IS NOT NULL THEN model END, served_model, supplier, region, key_model_id,
         count(*), count(code), count(*) FILTER (WHERE failover), sum(input_tokens), sum(cache_read_tokens),
         sum(cache_write_tokens::bigint + cache_write_long_tokens), sum(output_tokens), sum(reasoning_tokens),
         sum(audio_input_tokens::bigint + audio_output_tokens), sum(image_tokens), sum(image_output_tokens),
         sum(latency_ms), coalesce(sum(first_token_ms), 0), count(first_token_ms), sum(cost_nano),
         max(cost_nano), max(latency_ms),
         count(*) FILTER (WHERE latency_ms <= 40), count(*) FILTER (WHERE latency_ms BETWEEN 41 AND 70),
         count(*) FILTER (WHERE latency_ms BETWEEN 71 AND 120), count(*) FILTER (WHERE latency_ms BETWEEN 121 AND 210),
         count(*) FILTER (WHERE latency_ms BETWEEN 211 AND 360), count(*) FILTER (WHERE latency_ms BETWEEN 361 AND 620),
         count(*) FILTER (WHERE latency_ms BETWEEN 621 AND 1100), count(*) FILTER (WHERE latency_ms BETWEEN 1101 AND 1900),
         count(*) FILTER (WHERE latency_ms BETWEEN 1901 AND 3200), count(*) FILTER (WHERE latency_ms BETWEEN 3201 AND 5500),
         count(*) FILTER (WHERE latency_ms BETWEEN 5501 AND 9500), count(*) FILTER (WHERE latency_ms BETWEEN 9501 AND 16500),
         count(*) FILTER (WHERE latency_ms BETWEEN 16501 AND 28500), count(*) FILTER (WHERE latency_ms BETWEEN 28501 AND 60000),
         count(*) FILTER (WHERE latency_ms BETWEEN 60001 AND 180000), count(*) FILTER (WHERE latency_ms > 180000)
    FROM added GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
  ON CONFLICT ON CONSTRAINT usage_hour_once DO UPDATE SET
    requests = u.requests + excluded.requests, failures = u.failures + excluded.failures,
    failovers = u.failovers + excluded.failovers, input_tokens = u.input_tokens + excluded.input_tokens,
    cache_read_tokens = u.cache_read_tokens + excluded.cache_read_tokens,
    cache_write_tokens = u.cache_write_tokens + excluded.cache_write_tokens,
    output_tokens = u.output_tokens + excluded.output_tokens,
    reasoning_tokens = u.reasoning_tokens + excluded.reasoning_tokens,
    audio_tokens = u.audio_tokens + excluded.audio_tokens,
    image_tokens = u.image_tokens + excluded.image_tokens,
    image_output_tokens = u.image_output_tokens + excluded.image_output_tokens,
    latency_ms = u.latency_ms + excluded.latency_ms,
    first_token_ms = u.first_token_ms + excluded.first_token_ms,
    first_tokens = u.first_tokens + excluded.first_tokens, cost_nano = u.cost_nano + excluded.cost_nano,
    highest_cost_nano = greatest(u.highest_cost_nano, excluded.highest_cost_nano),
    highest_latency_ms = greatest(u.highest_latency_ms, excluded.highest_latency_ms),
    latency_0 = u.latency_0 + excluded.latency_0, latency_1 = u.latency_1 + excluded.latency_1, latency_2 = u.latency_2 + excluded.latency_2,
    latency_3 = u.latency_3 + excluded.latency_3, latency_4 = u.latency_4 + excluded.latency_4, latency_5 = u.latency_5 + excluded.latency_5,
    latency_6 = u.latency_6 + excluded.latency_6, latency_7 = u.latency_7 + excluded.latency_7, latency_8 = u.latency_8 + excluded.latency_8,
    latency_9 = u.latency_9 + excluded.latency_9, latency_10 = u.latency_10 + excluded.latency_10, latency_11 = u.latency_11 + excluded.latency_11,
    latency_12 = u.latency_12 + excluded.latency_12, latency_13 = u.latency_13 + excluded.latency_13, latency_14 = u.latency_14 + excluded.latency_14,
    latency_15 = u.latency_15 + excluded.latency_15;
  IF NOT EXISTS (SELECT FROM added WHERE end_user IS NOT NULL OR tags IS NOT NULL) THEN
    RETURN NULL;
  END IF;
  INSERT INTO usage_label_hour AS u (
    hour, kind, label, key_id, user_id, organisation_id, department_id, project_id, wallet_id, model,
    served_model, supplier, region, requests, failures, failovers, input_tokens, cache_read_tokens,
    cache_write_tokens, output_tokens, reasoning_tokens, audio_tokens, image_tokens, image_output_tokens,
    latency_ms, first_token_ms, first_tokens, cost_nano, highest_cost_nano, highest_latency_ms, first_at, last_at,
    latency_0, latency_1, latency_2, latency_3, latency_4, latency_5, latency_6, latency_7,
    latency_8, latency_9, latency_10, latency_11, latency_12, latency_13, latency_14, latency_15)
  SELECT date_trunc('hour', created_at, 'UTC'), kind, label, key_id, user_id, organisation_id, department_id,
         project_id, wallet_id, CASE WHEN served_model IS NOT NULL THEN model END, served_model, supplier,
         region, count(*), count(code), count(*) FILTER (WHERE failover), sum(input_tokens),
         sum(cache_read_tokens), sum(cache_write_tokens::bigint + cache_write_long_tokens), sum(output_tokens),
         sum(reasoning_tokens), sum(audio_input_tokens::bigint + audio_output_tokens), sum(image_tokens),
         sum(image_output_tokens), sum(latency_ms), coalesce(sum(first_token_ms), 0), count(first_token_ms),
         sum(cost_nano), max(cost_nano), max(latency_ms), min(created_at), max(created_at),
         count(*) FILTER (WHERE latency_ms <= 40), count(*) FILTER (WHERE latency_ms BETWEEN 41 AND 70),
         count(*) FILTER (WHERE latency_ms BETWEEN 71 AND 120), count(*) FILTER (WHERE latency_ms BETWEEN 121 AND 210),
         count(*) FILTER (WHERE latency_ms BETWEEN 211 AND 360), count(*) FILTER (WHERE latency_ms BETWEEN 361 AND 620),
         count(*) FILTER (WHERE latency_ms BETWEEN 621 AND 1100), count(*) FILTER (WHERE latency_ms BETWEEN 1101 AND 1900),
         count(*) FILTER (WHERE latency_ms BETWEEN 1901 AND 3200), count(*) FILTER (WHERE latency_ms BETWEEN 3201 AND 5500),
         count(*) FILTER (WHERE latency_ms BETWEEN 5501 AND 9500), count(*) FILTER (WHERE latency_ms BETWEEN 9501 AND 16500),
         count(*) FILTER (WHERE latency_ms BETWEEN 16501 AND 28500), count(*) FILTER (WHERE latency_ms BETWEEN 28501 AND 60000),
         count(*) FILTER (WHERE latency_ms BETWEEN 60001 AND 180000), count(*) FILTER (WHERE latency_ms > 180000)
    FROM added, record_labels(end_user, tags) GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
  ON CONFLICT ON CONSTRAINT usage_label_hour_once DO UPDATE SET
    requests = u.requests + excluded.requests, failures = u.failures + excluded.failures,
    failovers = u.failovers + excluded.failovers, input_tokens = u.input_tokens + excluded.input_tokens,
    cache_read_tokens = u.cache_read_tokens + excluded.cache_read_tokens,
    cache_write_tokens = u.cache_write_tokens + excluded.cache_write_tokens,
    output_tokens = u.output_tokens + excluded.output_tokens,
    reasoning_tokens = u.reasoning_tokens + excluded.reasoning_tokens,
    audio_tokens = u.audio_tokens + excluded.audio_tokens,
    image_tokens = u.image_tokens + excluded.image_tokens,
    image_output_tokens = u.image_output_tokens + excluded.image_output_tokens,
    latency_ms = u.latency_ms + excluded.latency_ms,
    first_token_ms = u.first_token_ms + excluded.first_token_ms,
    first_tokens = u.first_tokens + excluded.first_tokens, cost_nano = u.cost_nano + excluded.cost_nano,
    highest_cost_nano = greatest(u.highest_cost_nano, excluded.highest_cost_nano),
    highest_latency_ms = greatest(u.highest_latency_ms, excluded.highest_latency_ms),
    -- Unknown of a label that was counted before they were kept, and stays so.
    first_at = CASE WHEN u.first_at IS NOT NULL THEN least(u.first_at, excluded.first_at) END,
    last_at = CASE WHEN u.last_at IS NOT NULL THEN greatest(u.last_at, excluded.last_at) END,
    latency_0 = u.latency_0 + excluded.latency_0, latency_1 = u.latency_1 + excluded.latency_1, latency_2 = u.latency_2 + excluded.latency_2,
    latency_3 = u.latency_3 + excluded.latency_3, latency_4 = u.latency_4 + excluded.latency_4, latency_5 = u.latency_5 + excluded.latency_5,
    latency_6 = u.latency_6 + excluded.latency_6, latency_7 = u.latency_7 + excluded.latency_7, latency_8 = u.latency_8 + excluded.latency_8,
    latency_9 = u.latency_9 + excluded.latency_9, latency_10 = u.latency_10 + excluded.latency_10, latency_11 = u.latency_11 + excluded.latency_11,
    latency_12 = u.latency_12 + excluded.latency_12, latency_13 = u.latency_13 + excluded.latency_13, latency_14 = u.latency_14 + excluded.latency_14,
    latency_15 = u.latency_15 + excluded.latency_15;
  RETURN NULL;
END $$;

-- The labels of one record, each once.
CREATE OR REPLACE FUNCTION record_labels(end_user text, tags jsonb) RETURNS TABLE (kind text, label text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT 'end_user', end_user WHERE end_user IS NOT NULL
  UNION SELECT 'tag', tag FROM jsonb_array_elements_text(tags) AS tag
$$;

REVOKE ALL ON FUNCTION add_record_usage FROM PUBLIC;
