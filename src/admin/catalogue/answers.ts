import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { afterChange, type HttpRequest, localPath, Notices, wantsPage } from '../../web';
import type { FromPage } from './forms';

export const MODELS_PAGE = '/dashboard/admin/models';

/** Answers to changes: a program gets JSON, a person is redirected to the page they came from with a notice. */
@Injectable()
export class Answers {
  constructor(private readonly notices: Notices) {}

  done(
    request: HttpRequest,
    response: ServerResponse,
    { back }: FromPage,
    {
      text,
      values,
      facts,
      to,
    }: { text: string; values?: Record<string, string | number>; facts: object; to?: string },
  ): object {
    if (wantsPage(request)) this.notices.leave(response, { tone: 'ok', text, ...(values ? { values } : {}) });
    return afterChange(request, response, to ?? pathBack(back), facts);
  }
}

export const pathBack = (back: string | undefined): string => localPath(back, MODELS_PAGE);
