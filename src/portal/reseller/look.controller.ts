import type { ServerResponse } from 'node:http';
import { Controller, Get, Header, Req, Res, StreamableFile } from '@nestjs/common';
import { ResellerDomains } from '../../identity';
import { fault } from '../../kernel';
import { Access, type HttpRequest } from '../../web';

const KEPT = 'public, max-age=86400';

/** A reseller's look is fetched under the reseller's own host; elsewhere there is nothing of the kind. */
@Controller()
export class LookController {
  constructor(private readonly resellers: ResellerDomains) {}

  @Get('/portal/look.css')
  @Access.anyone()
  @Header('content-type', 'text/css; charset=utf-8')
  @Header('cache-control', KEPT)
  styleSheet(@Req() { reseller }: HttpRequest): string {
    if (!reseller?.accents) throw fault('not_found');
    const { light, dark } = reseller.accents;
    return `:root { --accent: light-dark(${light}, ${dark}); --series-1: light-dark(${light}, ${dark}); }\n`;
  }

  @Get('/portal/logo')
  @Access.anyone()
  @Header('content-type', 'image/png')
  async logo(
    @Req() { reseller }: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<StreamableFile> {
    const logo = reseller === undefined ? null : await this.resellers.logo(reseller.host);
    if (logo === null) throw fault('not_found');
    response.setHeader('cache-control', KEPT);
    return new StreamableFile(logo, { length: logo.length });
  }
}
