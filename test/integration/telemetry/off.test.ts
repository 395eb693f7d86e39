import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Telemetry } from '#product/platform';
import { startTestApp } from '../../support/app';
import { Program, projectFolder } from '../../system/program';

/** Prints how many files of the OpenTelemetry packages were loaded with the bundle. */
const LOADED = `
process.on('exit', () => {
  const files = Object.keys(require.cache).filter((file) => file.includes('@opentelemetry'));
  process.stderr.write('LOADED ' + files.length + '\\n');
});
require(process.env.ARTEFACT);
`;

const run = async (environment: Readonly<Record<string, string>>) => {
  const artefact = join(projectFolder, 'dist', 'bundle', 'boot', 'service.js');
  const program = Program.run(process.execPath, ['--eval', LOADED], {
    PATH: process.env.PATH,
    ARTEFACT: artefact,
    ...environment,
  });
  return (await program.finish()).text;
};

test('without a receiver, no OpenTelemetry package is loaded', async () => {
  expect(await run({})).toContain('LOADED 0');
});

test('the service without a receiver counts and buffers nothing for it', async () => {
  const app = await startTestApp({ environment: { OTEL_SERVICE_NAME: 'named-for-nothing' } });
  const telemetry = app.application.get(Telemetry);
  expect([telemetry.traces, telemetry.models]).toEqual([null, null]);
  await app.close();
});

test('OTEL_SDK_DISABLED prevents exports even if an endpoint is set', async () => {
  const app = await startTestApp({
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_SDK_DISABLED: 'true' },
  });
  const telemetry = app.application.get(Telemetry);
  expect([telemetry.traces, telemetry.models]).toEqual([null, null]);
  await app.close();
});

test('the bundle references the packages in one lazily loaded chunk only', () => {
  const containsPackage = (file: string): boolean =>
    readFileSync(join(projectFolder, 'dist', 'bundle', 'boot', file), 'utf8').includes(
      'require("@opentelemetry/sdk-trace")',
    );
  expect([containsPackage('service.js'), containsPackage('pages.js')]).toEqual([false, true]);
});
