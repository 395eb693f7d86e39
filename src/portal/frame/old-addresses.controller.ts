import { Controller, Get, Param, Redirect } from '@nestjs/common';
import { Access, Redirects } from '../../web';

/** Addresses of earlier releases. */
@Controller()
export class OldAddressesController {
  @Redirects('/dashboard/playground', '/dashboard/webchat', Access.session())
  playground(): undefined {
    return undefined;
  }

  @Get('/dashboard/playground/:conv_id')
  @Access.session()
  @Redirect()
  conversation(@Param('conv_id') id: string): { url: string } {
    return { url: `/dashboard/webchat/${encodeURIComponent(id)}` };
  }
}
