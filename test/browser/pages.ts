import { Mailer, Outbox } from '../../src/platform';
import { startTestApp } from '../support/app';

export interface Pages {
  readonly url: string;
  stop(): Promise<void>;
}

/** The service as developers start it, with a mail in its outbox. */
export async function startPages(): Promise<Pages> {
  const app = await startTestApp({ environment: { NODE_ENV: 'development', LOG_LEVEL: 'error' } });
  await app.application.get(Mailer, { strict: false }).send({
    to: 'anna@acme.example',
    subject: 'Confirm your address',
    text: 'Hello Anna,\n\nplease open http://127.0.0.1:3000/verify-email?token=example\n\n<script>never runs</script>',
    html: '<p>Hello Anna</p>',
  });
  await arrived(app.application.get(Outbox, { strict: false }));
  return { url: app.url, stop: () => app.close() };
}

/** The mail goes through the queue, which says nothing when it is done. */
async function arrived(outbox: Outbox): Promise<void> {
  const deadline = Date.now() + 15_000;
  while ((await outbox.list()).length === 0) {
    if (Date.now() > deadline) throw new Error('the mail did not reach the outbox');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
