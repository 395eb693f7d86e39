import type { ServerResponse } from 'node:http';
import { Controller, Get, Header, Req, Res, StreamableFile } from '@nestjs/common';
import { ResellerDomains } from '../../identity';
import { fault } from '../../kernel';
import { Access, type HttpRequest } from '../../web';

const CACHE_CONTROL = 'public, max-age=86400';

/** Serves a reseller's style sheet and logo, on the reseller's own host only. */
@Controller()
export class BrandingController {
  constructor(private readonly resellers: ResellerDomains) {}

  @Get('/portal/look.css')
  @Access.anyone()
  @Header('content-type', 'text/css; charset=utf-8')
  @Header('cache-control', CACHE_CONTROL)
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
    response.setHeader('cache-control', CACHE_CONTROL);
    return new StreamableFile(logo, { length: logo.length });
  }
}
