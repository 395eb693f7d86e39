import { Controller, Get, Redirect } from '@nestjs/common';
import { Access, PathId, Redirects } from '../../web';

/** Addresses of earlier releases lead on to those of today. */
@Controller()
export class OldAddressesController {
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
