import type { Transporter } from 'nodemailer';
import type { Settings } from '../config';
import { assertMail, type Mail } from './mail';
import { Outbox } from './outbox';

/** Hands a mail over to the server, or to the outbox when there is none. */
export class MailTransport {
  private server?: Promise<Transporter>;

  constructor(
    private readonly settings: Pick<Settings, 'smtpUrl' | 'mailFrom' | 'dataFolder'>,
    private readonly outbox: Outbox,
    private readonly patienceMs = 10_000,
  ) {}

  async deliver(mail: Mail): Promise<void> {
    assertMail(mail);
    const { to, subject, text, html, id } = mail;
    const { smtpUrl } = this.settings;
    if (smtpUrl === undefined) return this.outbox.write(this.settings.mailFrom, mail);
    const server = await (this.server ??= this.connect(smtpUrl));
    await server.sendMail({
      from: this.settings.mailFrom,
      // Given as parts, so that it cannot be read as a list of addresses.
      to: { name: '', address: to },
      subject,
      text,
      ...(html !== undefined && { html }),
      // The same on every attempt: a server that took a mail before the line broke can tell the second one.
      ...(id !== undefined && { messageId: `<${id}@${domainOf(this.settings.mailFrom)}>` }),
    });
  }

  async close(): Promise<void> {
    (await this.server)?.close();
  }

  /** The package is loaded with the first mail. */
  private async connect(url: string): Promise<Transporter> {
    const { patienceMs } = this;
    const { createTransport } = await import('nodemailer');
    return createTransport({
      url,
      pool: true,
      maxConnections: 2,
      connectionTimeout: patienceMs,
      greetingTimeout: patienceMs,
      dnsTimeout: patienceMs,
      socketTimeout: 2 * patienceMs,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  }
}

function domainOf(sender: string): string {
  return /@([^\s>]+)>?$/.exec(sender)?.[1] ?? 'localhost';
}
