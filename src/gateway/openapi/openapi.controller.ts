import { Controller, Get, Header } from '@nestjs/common';
import { Access, type OpenApiDocument } from '../../web';
import { GatewayDescription } from './gateway-description';

@Controller()
export class OpenApiController {
  constructor(private readonly description: GatewayDescription) {}

  @Get('/v1/openapi.json')
  @Access.anyone()
  @Header('content-type', 'application/json; charset=utf-8')
  @Header('cache-control', 'public, max-age=300')
  document(): OpenApiDocument {
    return this.description.document;
  }
}
