import { createTransport, type Transporter } from 'nodemailer';
import type { Settings } from '../config';
import { assertMail, type Mail } from './mail';
import { Outbox } from './outbox';

/** Hands a mail over to the server, or to the outbox when there is none. */
export class MailTransport {
  private readonly server?: Transporter;

  constructor(
    private readonly settings: Pick<Settings, 'smtpUrl' | 'mailFrom' | 'dataFolder'>,
    private readonly outbox: Outbox,
    patienceMs = 10_000,
  ) {
    if (settings.smtpUrl === undefined) return;
    this.server = createTransport({
      url: settings.smtpUrl,
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

  async deliver(mail: Mail): Promise<void> {
    assertMail(mail);
    const { to, subject, text, html, id } = mail;
    if (!this.server) return this.outbox.write(this.settings.mailFrom, mail);
    await this.server.sendMail({
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

  close(): void {
    this.server?.close();
  }
}

function domainOf(sender: string): string {
  return /@([^\s>]+)>?$/.exec(sender)?.[1] ?? 'localhost';
}
