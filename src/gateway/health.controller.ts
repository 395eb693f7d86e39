import { Controller, Get, Header } from '@nestjs/common';
import { MoneyEngine } from '../billing';
import { fault } from '../kernel';
import { Database, errorCode, QueueSupervisor, RepeatingJobs } from '../platform';
import { Access } from '../web';
import { Lifecycle } from './intake';

/** In bytes: Express would first look up what JSON is called among all media types there are. */
const ok = Buffer.from('{"status":"ok"}');
const JSON_TYPE = 'application/json; charset=utf-8';

@Controller()
export class HealthController {
  constructor(
    private readonly database: Database,
    private readonly lifecycle: Lifecycle,
    private readonly money: MoneyEngine,
    private readonly jobs: RepeatingJobs,
    private readonly queues: QueueSupervisor,
  ) {}

  @Get('/health')
  @Access.probe()
  @Header('content-type', JSON_TYPE)
  health(): Buffer {
    return ok;
  }

  /** The process answers; nothing else is asked. */
  @Get('/health/live')
  @Access.probe()
  @Header('content-type', JSON_TYPE)
  live(): Buffer {
    return ok;
  }

  /** New work may come: the journal can be written, the database takes it, jobs are run, and the process is not to stop. */
  @Get('/health/ready')
  @Access.probe()
  @Header('content-type', JSON_TYPE)
  async ready(): Promise<Buffer> {
    if (this.lifecycle.draining) throw fault('pod_draining');
    const { trouble } = this.money;
    if (trouble !== undefined)
      throw fault('billing_unavailable', {
        message: `The journal cannot be written (${errorCode(trouble)}): nothing new is begun.`,
        retryAfterSeconds: 1,
        cause: trouble,
      });
    await this.database.ping();
    if (!this.money.admits) throw fault('billing_unavailable', { retryAfterSeconds: 1 });
    const stuck = [...this.jobs.stuck, ...this.queues.stuck];
    if (stuck.length > 0)
      throw fault('service_unavailable', { message: `Jobs are not run here: ${stuck.join(', ')}.` });
    return ok;
  }
}
