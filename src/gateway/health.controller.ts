import { Controller, Get, Header } from '@nestjs/common';
import { fault } from '../kernel';
import { Database } from '../platform';
import { Access } from '../web';
import { Lifecycle } from './lifecycle';

/** In bytes: Express would first look up what JSON is called among all media types there are. */
const ok = Buffer.from('{"status":"ok"}');
const JSON_TYPE = 'application/json; charset=utf-8';

@Controller()
export class HealthController {
  constructor(
    private readonly database: Database,
    private readonly lifecycle: Lifecycle,
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

  /** New work may come: the database answers, and nobody has asked the process to stop. */
  @Get('/health/ready')
  @Access.probe()
  @Header('content-type', JSON_TYPE)
  async ready(): Promise<Buffer> {
    if (this.lifecycle.draining) throw fault('pod_draining');
    await this.database.ping();
    return ok;
  }
}
