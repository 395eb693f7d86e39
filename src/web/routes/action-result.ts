import type { ServerResponse } from 'node:http';
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { map, type Observable } from 'rxjs';
import type { Notice } from '../frame-data';
import { requestOf, wantsPage } from '../http-request';
import { localPath } from '../local-path';
import { Notices } from '../notices';

/** Result of a change: browsers are redirected to a page with a notice, API clients get the body. */
export class ActionResult {
  /** Path in the portal; any other address becomes the overview. */
  readonly to: string;

  constructor(
    to: string,
    readonly body: object,
    readonly notice: Notice | undefined,
  ) {
    if (typeof to !== 'string') throw new TypeError('done() takes a path of the portal, such as "/x/pages".');
    this.to = localPath(to);
  }
}

export const done = (
  to: string,
  body: object,
  notice?: string | Notice,
  values?: Notice['values'],
): ActionResult =>
  new ActionResult(
    to,
    body,
    typeof notice === 'string' ? { tone: 'ok', text: notice, ...(values && { values }) } : notice,
  );

@Injectable()
export class ActionResultInterceptor implements NestInterceptor {
  constructor(private readonly notices: Notices) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next
      .handle()
      .pipe(map((result: unknown) => (result instanceof ActionResult ? this.send(context, result) : result)));
  }

  private send(context: ExecutionContext, { to, body, notice }: ActionResult) {
    const request = requestOf(context);
    const response = context.switchToHttp().getResponse<ServerResponse>();
    if (notice !== undefined) this.notices.store(response, notice);
    if (request.headers['hx-request'] === 'true') {
      response.setHeader('hx-redirect', to);
    } else if (wantsPage(request)) {
      response.statusCode = 303;
      response.setHeader('location', to);
    }
    return body;
  }
}
