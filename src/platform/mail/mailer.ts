import { Injectable } from '@nestjs/common';
import { addJob, InjectQueue, type Job, Processor, type Queue, WorkerHost } from '../queue';
import { assertMail, type Mail } from './mail';
import { MailTransport } from './mail-transport';

export const mailQueue = 'mail';

/** The pauses double: a mail server may be away for two hours at least before a mail is given up. */
const ATTEMPTS = 14;
const FIRST_PAUSE_MS = 2_000;

/** Takes mails for sending. Asking is quick and tells nothing: delivery, with its repeats, happens in a job. */
@Injectable()
export class Mailer {
  constructor(@InjectQueue(mailQueue) private readonly queue: Queue) {}

  async send(mail: Mail): Promise<void> {
    assertMail(mail);
    const { id } = mail;
    const options = {
      attempts: ATTEMPTS,
      backoff: { type: 'exponential', delay: FIRST_PAUSE_MS, jitter: 0.5 },
      // A mail may carry a sign-in link: it stays only as long as a repeat must be recognised.
      removeOnComplete: id === undefined ? true : { age: 600 },
    };
    await addJob(this.queue, { name: 'mail', data: mail, options, ...(id !== undefined && { id }) });
  }
}

@Processor(mailQueue, { concurrency: 2 })
export class MailWorker extends WorkerHost {
  constructor(private readonly transport: MailTransport) {
    super();
  }

  override async process(job: Job<Mail>): Promise<void> {
    await this.transport.deliver(job.data);
  }
}
