import type { MigrationInterface, QueryRunner } from 'typeorm';

type Columns = Readonly<Record<string, readonly [from: string, comment: string]>>;

/** The sums that callers are told: see `promptTokens` and `completionTokens`. */
const prompt = `input_tokens + cache_read_tokens + cache_write_tokens + cache_write_long_tokens + audio_input_tokens
  + image_tokens`;
const completion = 'output_tokens + reasoning_tokens + audio_output_tokens + image_output_tokens';

const request: Columns = {
  request_id: ['request_id', 'As in the answer of the request.'],
  created_at: ['created_at', 'When the request came.'],
  key_id: ['key_id', 'Null where no key is known.'],
  user_id: ['user_id', 'The person of the key.'],
  organisation_id: ['organisation_id', 'The organisation of the key.'],
  department_id: ['department_id', 'The department of the key.'],
  project_id: ['project_id', 'The project of the key.'],
  operation: ['surface', 'Such as chat, messages, responses, embeddings.'],
  model: ['model', 'As the caller wrote it; null where there is no such model.'],
  served_model: ['served_model', 'The model that answered.'],
  supplier: ['supplier', 'The supplier that answered.'],
  region: ['region', 'The region of the lane that answered.'],
  status: ['status::integer', 'The HTTP status of the answer.'],
  error_code: ['code', 'A code of the error catalogue; null where the request succeeded.'],
  stream: ['stream', 'Whether the answer was a stream.'],
  failover: ['failover', 'Whether another lane had been tried before.'],
  input_tokens: [prompt, 'With what was cached.'],
  output_tokens: [completion, 'With reasoning.'],
  cached_tokens: ['cache_read_tokens', 'The part of input_tokens that was read from a cache.'],
  cost_usd: ['(cost_nano * 0.000000001)::numeric(28, 9)', 'Dollars, exact to nine places.'],
  latency_ms: ['latency_ms', 'To the end of the answer.'],
  first_token_ms: ['first_token_ms', 'To the first token of a stream.'],
  finish_reason: ['finish_reason', 'Why the answer ended, in the words of its supplier.'],
  end_user: ['end_user', 'The end user in the words of the caller.'],
  tags: ["coalesce(tags, '[]')", 'The tags of the caller, a JSON array of texts.'],
};

const key: Columns = {
  id: ['id', 'As in request.key_id.'],
  name: ['name', 'Its owner chose it.'],
  status: ['status', 'One of active, disabled, revoked.'],
  user_id: ['user_id', 'The person whom it belongs to.'],
  organisation_id: ['organisation_id', 'The organisation that it belongs to.'],
  department_id: ['department_id', 'The department that it belongs to.'],
  project_id: ['project_id', 'The project that it belongs to.'],
  created_at: ['created_at', 'When it was made.'],
};

const organisation: Columns = {
  id: ['id', 'As in request.organisation_id.'],
  name: ['name', 'As people see it.'],
  slug: ['slug', 'Its name in addresses.'],
  created_at: ['created_at', 'When it was made.'],
};

/** Extensions may read these views. Names and types of columns stay, and new ones may be added at the end. */
export class PublishViews1764801000300 implements MigrationInterface {
  readonly name = 'PublishViews1764801000300';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`CREATE SCHEMA contract; COMMENT ON SCHEMA contract IS 'What extensions may read.'`);
    await runner.query(viewOf('request', 'request_record', request));
    await runner.query(viewOf('key', 'api_key', key));
    await runner.query(viewOf('organisation', 'organisation', organisation));
    await runner.query(`
      GRANT USAGE ON SCHEMA contract TO switchboard_app;
      GRANT SELECT ON ALL TABLES IN SCHEMA contract TO switchboard_app;
      CREATE TABLE extension_migration (
        extension text        NOT NULL CHECK (length(extension) BETWEEN 1 AND 100),
        name      text        NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
        -- SHA-256 of the file, in hexadecimal digits.
        digest    text        NOT NULL CHECK (digest ~ '^[0-9a-f]{64}$'),
        run_at    timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT extension_migration_pkey PRIMARY KEY (extension, name)
      );
      GRANT SELECT ON extension_migration TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE extension_migration; DROP SCHEMA contract CASCADE');
  }
}

function viewOf(name: string, table: string, columns: Columns): string {
  const list = Object.entries(columns);
  const selected = list.map(([column, [from]]) => `${from} AS ${column}`);
  const comments = list.map(
    ([column, [, comment]]) => `COMMENT ON COLUMN contract.${name}.${column} IS '${comment}'`,
  );
  return [
    `CREATE VIEW contract.${name} AS SELECT ${selected.join(', ')} FROM public.${table}`,
    ...comments,
  ].join(';\n');
}
