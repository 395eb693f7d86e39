import type { ServerResponse } from 'node:http';
import { type HttpRequest, wantsPage } from './http-request';

/** After a change, a person is led to a page and a program gets the facts. The path must be one of ours. */
export function afterChange(
  request: HttpRequest,
  response: ServerResponse,
  to: string,
  facts: object,
): object {
  if (request.headers['hx-request'] === 'true') {
    response.setHeader('hx-redirect', to);
  } else if (wantsPage(request)) {
    response.statusCode = 303;
    response.setHeader('location', to);
  }
  return facts;
}
