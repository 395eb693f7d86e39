import { Mailer, Outbox, Settings } from '#product/platform';
import { developmentToken } from '#product/web';
import { startTestApp } from '../support/app';
import { until } from '../support/until';

export interface DevelopmentSite {
  readonly url: string;
  /** Token that opens the pages below `/dev`. */
  readonly token: string;
  stop(): Promise<void>;
}

/** Starts the service as developers do, with a mail in its outbox. */
export async function startPages(): Promise<DevelopmentSite> {
  const app = await startTestApp({ environment: { NODE_ENV: 'development', LOG_LEVEL: 'error' } });
  await app.application.get(Mailer, { strict: false }).send({
    to: 'anna@acme.example',
    subject: 'Confirm your address',
    text: 'Hello Anna,\n\nplease open http://127.0.0.1:3000/verify-email?token=example\n\n<script>never runs</script>',
    html: '<p>Hello Anna</p>',
  });
  // The mail passes through a queue without a completion event.
  const outbox = app.application.get(Outbox, { strict: false });
  await until(async () => (await outbox.list()).length > 0);
  const token = developmentToken(app.application.get(Settings));
  return { url: app.url, token, stop: () => app.close() };
}
