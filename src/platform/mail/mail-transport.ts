import type { Transporter } from 'nodemailer';
import type { Settings } from '../config';
import { assertMail, type Mail } from './mail';
import { Outbox } from './outbox';

/** Hands an email to the mail server, or to the outbox if there is none. */
export class MailTransport {
  private server?: Promise<Transporter>;

  constructor(
    private readonly settings: Pick<Settings, 'smtpUrl' | 'mailFrom' | 'dataFolder'>,
    private readonly outbox: Outbox,
    private readonly timeoutMs = 10_000,
  ) {}

  async deliver(mail: Mail): Promise<void> {
    assertMail(mail);
    const { to, subject, text, html, id } = mail;
    const { smtpUrl } = this.settings;
    if (smtpUrl === undefined) return this.outbox.write(this.settings.mailFrom, mail);
    const server = await (this.server ??= this.connect(smtpUrl));
    await server.sendMail({
      from: this.settings.mailFrom,
      // Passed as parts, so that it cannot be read as a list of addresses.
      to: { name: '', address: to },
      subject,
      text,
      ...(html !== undefined && { html }),
      // Constant across attempts, so that a server can recognise an email that it accepted before the connection broke.
      ...(id !== undefined && { messageId: `<${id}@${domainOf(this.settings.mailFrom)}>` }),
    });
  }

  async close(): Promise<void> {
    (await this.server)?.close();
  }

  private async connect(url: string): Promise<Transporter> {
    const { timeoutMs } = this;
    const { createTransport } = await import('nodemailer');
    return createTransport({
      url,
      pool: true,
      maxConnections: 2,
      connectionTimeout: timeoutMs,
      greetingTimeout: timeoutMs,
      dnsTimeout: timeoutMs,
      socketTimeout: 2 * timeoutMs,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  }
}

function domainOf(sender: string): string {
  return /@([^\s>]+)>?$/.exec(sender)?.[1] ?? 'localhost';
}
