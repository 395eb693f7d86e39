import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { type Fault, fromUnknown, portalStatusOf } from '../../kernel';
import { FormPipe, type HttpRequest, PageRenderer, pathOf, wantsPage } from '../../web';

/** A form's handler has done this, and the visitor of a page goes there next. */
export type Done = { readonly body: object } & (
  | { readonly to: string }
  /** It is shown at once, because it holds what cannot be shown again. */
  | { readonly page: { readonly view: string; readonly model: object } }
  /** It leads to an identity provider. A form may lead to our own pages only, so a page of ours leads on. */
  | { readonly onward: { readonly address: string; readonly provider: string } }
);

export interface FormView<Form> {
  /** It is left out where a button says all. */
  readonly form?: new () => Form;
  /** Shown again, with what was wrong, when the form is refused. */
  readonly view: string;
  /** The view shows this beside the form; of what was sent it keeps what it names here, never a secret. */
  readonly model?: (sent: Readonly<Record<string, string>>) => object;
}

/** Forms of pages and of programs: the same work; a page is shown again or left, a program gets JSON. */
@Injectable()
export class FormAnswers {
  private readonly pipe = new FormPipe();

  constructor(
    private readonly pages: PageRenderer,
    private readonly activity: ActivityLog,
  ) {}

  async answer<Form extends object>(
    request: HttpRequest,
    response: ServerResponse,
    shown: FormView<Form>,
    work: (form: Form) => Promise<Done>,
  ) {
    try {
      const done = await work(await this.read(request, shown));
      if (!wantsPage(request)) return done.body;
      if ('to' in done) {
        response.statusCode = 303;
        response.setHeader('location', done.to);
        return '';
      }
      if ('onward' in done) response.setHeader('refresh', `0; url=${done.onward.address}`);
      const { view, model } =
        'page' in done ? done.page : { view: 'pages/account/onward', model: done.onward };
      response.setHeader('content-type', 'text/html; charset=utf-8');
      return this.pages.page(view, model, request);
    } catch (error) {
      if (!wantsPage(request)) throw error;
      const problem = fromUnknown(error);
      if (problem.status >= 500 && problem.status !== 503) throw error;
      this.activity.nothingChanged();
      return this.again(problem, request, response, shown);
    }
  }

  private async read<Form extends object>(request: HttpRequest, { form }: FormView<Form>): Promise<Form> {
    const given = form === undefined ? {} : request.body;
    return (await this.pipe.transform(given, { type: 'body', metatype: form })) as Form;
  }

  /** The renderer puts back what was typed, and marks the fields at fault. */
  private again<Form>(
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
    const again = Object.assign(Object.create(request) as HttpRequest, {
      originalUrl: request.formPage ?? request.originalUrl,
      refusal: { path: pathOf(request), posted, problem },
    });
    const shown = { ...model?.(textsOf(posted)), problem: { code: problem.code } };
    return this.pages.page(view, shown, again);
  }
}

const LONGEST_KEPT = 2_000;

const textsOf = (posted: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(posted).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value.slice(0, LONGEST_KEPT)]] : [],
    ),
  );
