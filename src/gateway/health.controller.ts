import { Controller, Get } from '@nestjs/common';
import { fault } from '../kernel';
import { Database } from '../platform';
import { Access } from '../web';
import { Lifecycle } from './lifecycle';

@Controller()
export class HealthController {
  constructor(
    private readonly database: Database,
    private readonly lifecycle: Lifecycle,
  ) {}

  @Get('/health')
  @Access.probe()
  health(): { status: 'ok' } {
    return { status: 'ok' };
  }

  /** The process answers; nothing else is asked. */
  @Get('/health/live')
  @Access.probe()
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  /** New work may come: the database answers, and nobody has asked the process to stop. */
  @Get('/health/ready')
  @Access.probe()
  async ready(): Promise<{ status: 'ok' }> {
    if (this.lifecycle.draining) throw fault('pod_draining');
    await this.database.ping();
    return { status: 'ok' };
  }
}
