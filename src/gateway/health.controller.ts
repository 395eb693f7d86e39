import { Controller, Get, Header } from '@nestjs/common';
import { Access } from '../web';
import { Readiness } from './readiness';

/** In bytes: Express would first look up what JSON is called among all media types there are. */
const ok = Buffer.from('{"status":"ok"}');
const JSON_TYPE = 'application/json; charset=utf-8';

@Controller()
export class HealthController {
  constructor(private readonly readiness: Readiness) {}

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

  @Get('/health/ready')
  @Access.probe()
  @Header('content-type', JSON_TYPE)
  async ready(): Promise<Buffer> {
    await this.readiness.check();
    return ok;
  }
}
