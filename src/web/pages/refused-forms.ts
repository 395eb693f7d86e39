import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { type Fault, renderPageModel } from '../../kernel';
import { LeanAdapter } from '../../platform';
import { type HttpRequest, pathOf } from '../http-request';
import type { PostedForm, Refusal } from './refusal';

/** Shows the page of a refused form again. Errors of guards pass no interceptor, so the exception filter calls it. */
@Injectable()
export class RefusedForms {
  constructor(private readonly adapter: LeanAdapter) {}

  /** Returns false if the form names no page, or the user cannot correct it. */
  showAgain(problem: Fault, request: HttpRequest, response: ServerResponse, next: () => void): boolean {
    const { formPage } = request;
    if (formPage === undefined || !isCorrectable(problem)) return false;
    const [path = ''] = formPage.split('?');
    const page = this.adapter.routes.find('GET', path);
    if (page === null) return false;
    const refusal: Refusal = { path: pathOf(request), posted: request.body as PostedForm, problem };
    const pageRequest = Object.assign(Object.create(request) as HttpRequest, {
      method: 'GET',
      url: formPage,
      originalUrl: formPage,
      params: page.params,
      refusal,
    });
    const { headers } = renderPageModel(problem, request.requestId);
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    page.handler(pageRequest, response, next);
    return true;
  }
}

const isCorrectable = ({ status, code }: Fault): boolean =>
  code === 'invalid_credentials' || (code !== 'csrf_rejected' && ![401, 499, 500].includes(status));
