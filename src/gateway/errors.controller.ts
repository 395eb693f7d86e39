import { Controller, Get, Param } from '@nestjs/common';
import { fault, publicCatalogue, publicEntry } from '../kernel';
import { Access } from '../web';

/** The error catalogue, open to everyone, as clients are written against it before they have a key. */
@Controller('/v1/errors')
export class ErrorsController {
  @Get()
  @Access.anyone()
  list() {
    const data = publicCatalogue();
    return { object: 'list', data, has_more: false };
  }

  @Get(':code')
  @Access.anyone()
  get(@Param('code') code: string) {
    const entry = publicEntry(code);
    if (entry === undefined)
      throw fault('not_found', { message: `There is no error code "${code}".`, param: 'code' });
    return entry;
  }
}
