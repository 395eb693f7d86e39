import type { ServerResponse } from 'node:http';
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { catchError, type Observable, of } from 'rxjs';
import { fromUnknown, type ValidationIssue } from '../../kernel';
import { afterChange, type HttpRequest, localPath, Notices, requestOf, wantsPage } from '../../web';
import type { FromPage } from './forms';

export const MODELS_PAGE = '/dashboard/admin/models';

/** Answers of changes: a program gets facts, a person the page they came from, with a word on it. */
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

/** A refusal of a page's form is told on the page it came from; a program gets it as it is. */
@Injectable()
export class ProblemAsNotice implements NestInterceptor {
  constructor(private readonly notices: Notices) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = requestOf(context);
    const response = context.switchToHttp().getResponse<ServerResponse>();
    return next.handle().pipe(
      catchError((error: unknown) => {
        const problem = fromUnknown(error);
        const isOfForm = request.method === 'POST' && wantsPage(request);
        if (!isOfForm || problem.status >= 500 || problem.status < 400) throw error;
        const issues = (problem.options.details?.errors ?? []) as ValidationIssue[];
        const fields = issues.map(({ msg }) => msg).join('; ');
        const message = `${problem.humanMessage}${fields === '' ? '' : ` ${fields}`}`;
        this.notices.leave(response, { tone: 'bad', text: 'catalogue.refused', values: { message } });
        const { back } = (request.body ?? {}) as { back?: unknown };
        return of(afterChange(request, response, pathBack(typeof back === 'string' ? back : undefined), {}));
      }),
    );
  }
}
