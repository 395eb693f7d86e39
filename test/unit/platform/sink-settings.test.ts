import { loadSettings } from '../../../src/platform';

const readSinks = (sinks: string, secrets = '') =>
  loadSettings({ NODE_ENV: 'test', SINKS: sinks, SINK_SECRETS: secrets });
const issueOf = (sinks: string, secrets = ''): string => {
  try {
    readSinks(sinks, secrets);
    return 'none';
  } catch (error) {
    return (error as Error).message;
  }
};

test.each([
  [
    'langfuse:https://cloud.langfuse.com',
    'https://cloud.langfuse.com/api/public/otel/v1/traces',
    'pk-lf-1:sk-lf-1',
  ],
  ['otlp:http://otel.internal:4318/', 'http://otel.internal:4318/v1/logs', ''],
  ['otlp:https://otel.example/base/v1/logs', 'https://otel.example/base/v1/logs', 'authorization: Bearer x'],
  ['datadog:us5.datadoghq.com', 'https://http-intake.logs.us5.datadoghq.com/api/v2/logs', '0123456789abcdef'],
  [
    'datadog:https://pipelines.internal:8282',
    'https://pipelines.internal:8282/api/v2/logs',
    '0123456789abcdef',
  ],
])('%s is posted to %s', (address, url, secret) => {
  expect(readSinks(`a=${address}`, secret === '' ? '' : `a=${secret}`).sinks).toMatchObject([
    { name: 'a', url },
  ]);
});

test('options have limits and defaults', () => {
  const [lake, logs] = readSinks(
    'lake=s3://bucket/a#region=eu-west-1&every=5m&batch=5000,logs=datadog:datadoghq.eu#timeout=5s',
    'lake=AKIAEXAMPLE:secret-of-it\nlogs=0123456789abcdef',
  ).sinks;
  expect(lake).toMatchObject({ kind: 's3', everyMs: 300_000, batch: 5_000, timeoutMs: 60_000 });
  expect(logs).toMatchObject({ kind: 'datadog', everyMs: 0, batch: 500, timeoutMs: 5_000 });
});

test.each([
  'https://a.example',
  'a=ftp:https://a.example',
  'A=otlp:https://a.example',
  'a=otlp:https://user:secret@a.example',
  'a=otlp:https://a.example?key=1',
  'a=otlp:https://a.example#region=x1',
  'a=datadog:datadog.example',
  'a=datadog:datadoghq.eu#batch=1001',
  'a=otlp:https://a.example#timeout=10m',
  'a=s3://bucket',
  'a=otlp:https://a.example,a=otlp:https://b.example',
])('%s is not a valid list of sinks', (sinks) => {
  expect(issueOf(sinks)).toContain('SINKS: expected NAME=s3://');
});

test.each([
  ['s3://bucket#region=eu-west-1', '', 'has no secret for the sink a'],
  ['s3://bucket#region=eu-west-1', 'a=onlyonepart', 'of another form than that of s3'],
  ['langfuse:https://a.example', 'a=pk-without-the-other', 'of another form than that of langfuse'],
  ['datadog:datadoghq.eu', 'a=short', 'of another form than that of datadog'],
  ['datadog:datadoghq.eu', 'a=0123456789abcdef,a=0123456789abcdef', 'more than one secret'],
  ['otlp:https://a.example', 'a=no header', 'something that is not a header'],
])('%s with %s is rejected without revealing the secret', (address, secrets, problem) => {
  const issue = issueOf(`a=${address}`, secrets);
  expect(issue).toContain(problem);
  if (secrets !== '') expect(issue).not.toContain(secrets.slice(2));
});
