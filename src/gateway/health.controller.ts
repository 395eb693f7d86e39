import { Controller, Get, Header } from '@nestjs/common';
import { Access } from '../web';
import { GatewayReadiness } from './readiness';

/** Bytes, because Express would first look up the JSON media type. */
const ok = Buffer.from('{"status":"ok"}');
const JSON_TYPE = 'application/json; charset=utf-8';

@Controller()
export class HealthController {
  constructor(private readonly readiness: GatewayReadiness) {}

  @Get('/health')
  @Access.probe()
  @Header('content-type', JSON_TYPE)
  health(): Buffer {
    return ok;
  }

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
