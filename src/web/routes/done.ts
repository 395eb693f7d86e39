import type { ServerResponse } from 'node:http';
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { map, type Observable } from 'rxjs';
import type { Notice } from '../frame-facts';
import { requestOf, wantsPage } from '../http-request';
import { localPath } from '../local-path';
import { Notices } from '../notices';

/** A change ends so: a person is led to this page, and told; a program gets the facts. */
export class Done {
  /** A path of this portal: any other address becomes the overview. */
  readonly to: string;

  constructor(
    to: string,
    readonly facts: object,
    readonly told: Notice | undefined,
  ) {
    if (typeof to !== 'string') throw new TypeError('done() takes a path of the portal, such as "/x/pages".');
    this.to = localPath(to);
  }
}

/** A text alone says that it went well. */
export const done = (to: string, facts: object, told?: string | Notice, values?: Notice['values']): Done =>
  new Done(
    to,
    facts,
    typeof told === 'string' ? { tone: 'ok', text: told, ...(values && { values }) } : told,
  );

/** Answers what a change came to; a handler that answers in another way is left alone. */
@Injectable()
export class DoneInterceptor implements NestInterceptor {
  constructor(private readonly notices: Notices) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next
      .handle()
      .pipe(map((answer: unknown) => (answer instanceof Done ? this.answer(context, answer) : answer)));
  }

  private answer(context: ExecutionContext, { to, facts, told }: Done) {
    const request = requestOf(context);
    const response = context.switchToHttp().getResponse<ServerResponse>();
    if (told !== undefined) this.notices.leave(response, told);
    if (request.headers['hx-request'] === 'true') {
      response.setHeader('hx-redirect', to);
    } else if (wantsPage(request)) {
      response.statusCode = 303;
      response.setHeader('location', to);
    }
    return facts;
  }
}
