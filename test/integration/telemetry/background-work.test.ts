import { Injectable, Module } from '@nestjs/common';
import { RepeatingJob, RepeatingJobs } from '#product/platform';
import { startTestApp, type TestApp } from '../../support/app';
import { OtlpReceiver, type ReceivedSpan } from '../../support/otlp-receiver';
import { chatAnswer, openTelemetryFixture } from './telemetry-fixture';

@Injectable()
class Sweeper {
  @RepeatingJob({ name: 'sweep', cron: '0 4 * * *' })
  sweep(): Promise<void> {
    return Promise.resolve();
  }

  @RepeatingJob({ name: 'stumble', cron: '0 4 * * *' })
  failingJob(): Promise<void> {
    return Promise.reject(new TypeError('over secret things'));
  }
}

@Module({ providers: [Sweeper] })
class MaintenanceModule {}

let receiver: OtlpReceiver;
let app: TestApp;
beforeAll(async () => {
  receiver = await OtlpReceiver.open();
  app = await startTestApp({
    modules: [MaintenanceModule],
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: '20' },
  });
});
afterAll(async () => {
  await app.close();
  await receiver.close();
});

const waitForSpan = async (name: string): Promise<ReceivedSpan> => {
  const findSpan = (): ReceivedSpan | undefined => receiver.spans.find((span) => span.name === name);
  await receiver.until(() => findSpan() !== undefined);
  return findSpan()!;
};

test('each job run is a separate trace with its outcome', async () => {
  const jobs = app.application.get(RepeatingJobs);
  await jobs.run('sweep');
  await expect(jobs.run('stumble')).rejects.toThrow('over secret things');
  const commonSpanFields = { kind: 'internal', parentSpanId: '', events: [], links: [] };
  expect(await waitForSpan('job sweep')).toMatchObject({
    ...commonSpanFields,
    isError: false,
    attributes: { 'switchboard.job.name': 'sweep' },
  });
  expect(await waitForSpan('job stumble')).toMatchObject({
    ...commonSpanFields,
    isError: true,
    attributes: { 'switchboard.job.name': 'stumble', 'error.type': 'TypeError' },
  });
  expect(receiver.text).not.toContain('over secret things');
});

test('each settlement transaction is a separate trace', async () => {
  const fixture = await openTelemetryFixture();
  fixture.supplier.answer = { body: chatAnswer };
  const body = { model: 'pair', messages: [{ role: 'user', content: 'hello' }] };
  await fixture.traced('/v1/chat/completions', body);
  const findSpan = (): ReceivedSpan | undefined =>
    fixture.receiver.spans.find(({ name }) => name === 'settle batch');
  await fixture.receiver.until(() => findSpan() !== undefined);
  const span = findSpan();
  await fixture.close();
  expect(span).toMatchObject({
    kind: 'internal',
    parentSpanId: '',
    isError: false,
    attributes: { 'switchboard.batch.records': 1 },
  });
});
