-- Sums one day of the whole platform (trigger request_record_usage unmakes that when a record of it comes late): a row
-- for each value of each dimension. The lock outwaits late records under way; a statement after it sees them. A record is
-- late after two hours: four more are left to the transaction that writes it.
CREATE OR REPLACE FUNCTION merge_usage_day(p_day timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  begins timestamptz := date_trunc('day', p_day, 'UTC');
BEGIN
  IF begins > now() - interval '30 hours' THEN
    RAISE EXCEPTION 'the day % is not over for long enough', p_day;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtext('usage_day'));
  DELETE FROM usage_day WHERE day = begins;
  INSERT INTO usage_day (day, dimension, number, name,
    requests, failures, failovers, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens,
    reasoning_tokens, audio_tokens, image_tokens, image_output_tokens, latency_ms, first_token_ms,
    first_tokens, cost_nano, latency_0, latency_1, latency_2, latency_3, latency_4, latency_5,
    latency_6, latency_7, latency_8, latency_9, latency_10, latency_11, latency_12, latency_13,
    latency_14, latency_15)
  SELECT begins,
         CASE GROUPING(served_model, supplier, region, key_id, project_id, user_id, wallet_id)
           WHEN 63 THEN 'model' WHEN 95 THEN 'supplier' WHEN 111 THEN 'region' WHEN 119 THEN 'key'
           WHEN 123 THEN 'project' WHEN 125 THEN 'user' WHEN 126 THEN 'wallet' ELSE 'all' END,
         coalesce(key_id, project_id, user_id, wallet_id), coalesce(served_model, supplier, region),
         sum(requests), sum(failures), sum(failovers), sum(input_tokens), sum(cache_read_tokens),
         sum(cache_write_tokens), sum(output_tokens), sum(reasoning_tokens), sum(audio_tokens),
         sum(image_tokens), sum(image_output_tokens), sum(latency_ms), sum(first_token_ms),
         sum(first_tokens), sum(cost_nano), sum(latency_0), sum(latency_1), sum(latency_2),
         sum(latency_3), sum(latency_4), sum(latency_5), sum(latency_6), sum(latency_7), sum(latency_8),
         sum(latency_9), sum(latency_10), sum(latency_11), sum(latency_12), sum(latency_13),
         sum(latency_14), sum(latency_15)
    FROM usage_hour WHERE hour >= begins AND hour < begins + interval '1 day'
   GROUP BY GROUPING SETS ((), (served_model), (supplier), (region), (key_id), (project_id), (user_id), (wallet_id))
  HAVING count(*) > 0
  UNION ALL
  SELECT begins, CASE GROUPING(label) WHEN 0 THEN kind ELSE 'any_' || kind END, NULL, label,
         sum(requests), sum(failures), sum(failovers), sum(input_tokens), sum(cache_read_tokens),
         sum(cache_write_tokens), sum(output_tokens), sum(reasoning_tokens), sum(audio_tokens),
         sum(image_tokens), sum(image_output_tokens), sum(latency_ms), sum(first_token_ms),
         sum(first_tokens), sum(cost_nano), sum(latency_0), sum(latency_1), sum(latency_2),
         sum(latency_3), sum(latency_4), sum(latency_5), sum(latency_6), sum(latency_7), sum(latency_8),
         sum(latency_9), sum(latency_10), sum(latency_11), sum(latency_12), sum(latency_13),
         sum(latency_14), sum(latency_15)
    FROM usage_label_hour WHERE hour >= begins AND hour < begins + interval '1 day'
   GROUP BY GROUPING SETS ((kind, label), (kind));
  INSERT INTO usage_day_merged (day) VALUES (begins) ON CONFLICT DO NOTHING;
END $$;

REVOKE ALL ON FUNCTION merge_usage_day FROM PUBLIC;
GRANT EXECUTE ON FUNCTION merge_usage_day TO switchboard_app;
