import { Injectable } from '@nestjs/common';
import { MoneyEngine } from '../billing';
import { fault } from '../kernel';
import { Database, errorCode, QueueSupervisor, RepeatingJobs } from '../platform';
import { Lifecycle } from './intake';

/**
 * Ready if the journal can be written, the database accepts money records, jobs run, and the process is not stopping.
 */
@Injectable()
export class GatewayReadiness {
  constructor(
    private readonly database: Database,
    private readonly lifecycle: Lifecycle,
    private readonly money: MoneyEngine,
    private readonly jobs: RepeatingJobs,
    private readonly queues: QueueSupervisor,
  ) {}

  async check(): Promise<void> {
    if (this.lifecycle.draining) throw fault('pod_draining');
    const { journalError: trouble } = this.money;
    if (trouble !== undefined)
      throw fault('billing_unavailable', {
        message: `The journal cannot be written (${errorCode(trouble)}): nothing new is begun.`,
        retryAfterSeconds: 1,
        cause: trouble,
      });
    await this.database.ping();
    if (!this.money.isAdmitting) throw fault('billing_unavailable', { retryAfterSeconds: 1 });
    const stuck = [...this.jobs.stuck, ...this.queues.stuck];
    if (stuck.length > 0)
      throw fault('service_unavailable', { message: `Jobs are not run here: ${stuck.join(', ')}.` });
  }
}
