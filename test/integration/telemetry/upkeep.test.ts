import { Injectable, Module } from '@nestjs/common';
import { RepeatingJob, RepeatingJobs } from '#product/platform';
import { startTestApp, type TestApp } from '../../support/app';
import { OtlpReceiver, type ReceivedSpan } from '../../support/otlp-receiver';
import { chatAnswer, openTelemetryHouse } from './telemetry-house';

@Injectable()
class Sweeper {
  @RepeatingJob({ name: 'sweep', cron: '0 4 * * *' })
  sweep(): Promise<void> {
    return Promise.resolve();
  }

  @RepeatingJob({ name: 'stumble', cron: '0 4 * * *' })
  stumble(): Promise<void> {
    return Promise.reject(new TypeError('over secret things'));
  }
}

@Module({ providers: [Sweeper] })
class Upkeep {}

let receiver: OtlpReceiver;
let app: TestApp;
beforeAll(async () => {
  receiver = await OtlpReceiver.open();
  app = await startTestApp({
    modules: [Upkeep],
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: '20' },
  });
});
afterAll(async () => {
  await app.close();
  await receiver.close();
});

const told = async (name: string): Promise<ReceivedSpan> => {
  const found = (): ReceivedSpan | undefined => receiver.spans.find((span) => span.name === name);
  await receiver.until(() => found() !== undefined);
  return found()!;
};

test('each run of a job is a trace of its own, which says how it ended', async () => {
  const jobs = app.application.get(RepeatingJobs);
  await jobs.run('sweep');
  await expect(jobs.run('stumble')).rejects.toThrow('over secret things');
  const whole = { kind: 'internal', parentSpanId: '', events: [], links: [] };
  expect(await told('job sweep')).toMatchObject({
    ...whole,
    isError: false,
    attributes: { 'switchboard.job.name': 'sweep' },
  });
  expect(await told('job stumble')).toMatchObject({
    ...whole,
    isError: true,
    attributes: { 'switchboard.job.name': 'stumble', 'error.type': 'TypeError' },
  });
  expect(receiver.text).not.toContain('over secret things');
});

test('each transaction of settlements is one', async () => {
  const house = await openTelemetryHouse();
  house.supplier.answer = { body: chatAnswer };
  const body = { model: 'pair', messages: [{ role: 'user', content: 'hello' }] };
  await house.traced('/v1/chat/completions', body);
  const found = (): ReceivedSpan | undefined =>
    house.receiver.spans.find(({ name }) => name === 'settle batch');
  await house.receiver.until(() => found() !== undefined);
  const span = found();
  await house.close();
  expect(span).toMatchObject({
    kind: 'internal',
    parentSpanId: '',
    isError: false,
    attributes: { 'switchboard.batch.records': 1 },
  });
});
