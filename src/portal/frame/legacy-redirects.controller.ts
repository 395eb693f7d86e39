import { Controller, Get, Redirect } from '@nestjs/common';
import { Access, PathId, Redirects } from '../../web';

@Controller()
export class LegacyRedirectsController {
  @Redirects('/dashboard/playground', '/dashboard/webchat', Access.session())
  playground(): undefined {
    return undefined;
  }

  @Get('/dashboard/playground/:conv_id')
  @Access.session()
  @Redirect()
  conversation(@PathId('conv_id') id: number): { url: string } {
    return { url: `/dashboard/webchat/${encodeURIComponent(id)}` };
  }
}
