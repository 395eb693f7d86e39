import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { type Fault, fromUnknown, portalStatusOf } from '../../kernel';
import { FormPipe, type HttpRequest, PageRenderer, pathOf, wantsPage } from '../../web';

/** Result of a form's handler, and where a page's visitor goes next. */
export type FormResult = { readonly body: object } & (
  | { readonly to: string }
  /** Rendered immediately, because it contains something that is shown only once. */
  | { readonly page: { readonly view: string; readonly model: object } }
  /**
   * Leads to an identity provider. A form may redirect to the portal's own pages only, so an intermediate page
   * redirects further.
   */
  | { readonly onward: { readonly address: string; readonly provider: string } }
);

export interface FormView<Form> {
  /** Absent if the form has only a button. */
  readonly form?: new () => Form;
  /** Rendered again, with the errors, when the form is rejected. */
  readonly view: string;
  /** Model shown together with the form. Only the submitted values named here are kept, never a secret. */
  readonly model?: (sent: Readonly<Record<string, string>>) => object;
}

/** Handles forms of pages and API clients alike: pages are rendered again or redirected, clients get JSON. */
@Injectable()
export class FormResponder {
  private readonly pipe = new FormPipe();

  constructor(
    private readonly pages: PageRenderer,
    private readonly activity: ActivityLog,
  ) {}

  async respond<Form extends object>(
    request: HttpRequest,
    response: ServerResponse,
    formView: FormView<Form>,
    work: (form: Form) => Promise<FormResult>,
  ) {
    try {
      const result = await work(await this.readForm(request, formView));
      if (!wantsPage(request)) return result.body;
      if ('to' in result) {
        response.statusCode = 303;
        response.setHeader('location', result.to);
        return '';
      }
      if ('onward' in result) response.setHeader('refresh', `0; url=${result.onward.address}`);
      const { view, model } =
        'page' in result ? result.page : { view: 'pages/account/onward', model: result.onward };
      response.setHeader('content-type', 'text/html; charset=utf-8');
      return this.pages.page(view, model, request);
    } catch (error) {
      if (!wantsPage(request)) throw error;
      const problem = fromUnknown(error);
      if (problem.status >= 500 && problem.status !== 503) throw error;
      this.activity.reportNoChange();
      return this.renderAgain(problem, request, response, formView);
    }
  }

  private async readForm<Form extends object>(request: HttpRequest, { form }: FormView<Form>): Promise<Form> {
    const input = form === undefined ? {} : request.body;
    return (await this.pipe.transform(input, { type: 'body', metatype: form })) as Form;
  }

  /** Renders the form again; the renderer restores the submitted values and marks invalid fields. */
  private renderAgain<Form>(
    problem: Fault,
    request: HttpRequest,
    response: ServerResponse,
    { view, model }: FormView<Form>,
  ): string {
    response.statusCode = portalStatusOf(problem);
    response.setHeader('content-type', 'text/html; charset=utf-8');
    const seconds = problem.options.retryAfterSeconds;
    if (seconds !== undefined) response.setHeader('retry-after', String(seconds));
    const posted = (request.body ?? {}) as Readonly<Record<string, unknown>>;
    const retryRequest = Object.assign(Object.create(request) as HttpRequest, {
      originalUrl: request.formPage ?? request.originalUrl,
      refusal: { path: pathOf(request), posted, problem },
    });
    const viewModel = { ...model?.(textFields(posted)), problem: { code: problem.code } };
    return this.pages.page(view, viewModel, retryRequest);
  }
}

const MAX_KEPT_LENGTH = 2_000;

const textFields = (posted: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(posted).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value.slice(0, MAX_KEPT_LENGTH)]] : [],
    ),
  );
