import { Injectable } from '@nestjs/common';
import { addJob, InjectQueue, type Job, Processor, type Queue, WorkerHost } from '../queue';
import { assertMail, type Mail } from './mail';
import { MailTransport } from './mail-transport';

export const mailQueue = 'mail';

/** The pauses double: a mail server can be unavailable for at least two hours before an email is given up. */
const ATTEMPTS = 14;
const INITIAL_PAUSE_MS = 2_000;

/** Queues emails for sending. Delivery, with its retries, runs in a job. */
@Injectable()
export class Mailer {
  constructor(@InjectQueue(mailQueue) private readonly queue: Queue) {}

  async send(mail: Mail): Promise<void> {
    assertMail(mail);
    const { id } = mail;
    const options = {
      attempts: ATTEMPTS,
      backoff: { type: 'exponential', delay: INITIAL_PAUSE_MS, jitter: 0.5 },
      // An email can contain a sign-in link, so it is kept only as long as a repetition must be recognised.
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
