import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { type Fault, fromUnknown, portalStatusOf, type ValidationIssue } from '../../kernel';
import type { Translate } from '../../views';
import { FormPipe, type HttpRequest, PageRenderer, wantsPage } from '../../web';

/** What a form's handler has done, and where the visitor of a page goes next. */
export type Done = { readonly body: object } & (
  | { readonly to: string }
  /** Shown at once, because it holds what cannot be shown again. */
  | { readonly page: { readonly view: string; readonly model: object } }
);

export interface FormView<Form> {
  /** Left out where a button says all. */
  readonly form?: new () => Form;
  /** Shown again, with what was wrong, when the form is refused. */
  readonly view: string;
  /** Names of the fields that are filled in again; never a secret. */
  readonly keeps?: readonly string[];
  readonly model?: (values: Readonly<Record<string, string>>) => object;
}

interface Problem {
  readonly text: string;
  readonly code: string;
  readonly fields: Readonly<Record<string, string>>;
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
  ): Promise<object | string> {
    try {
      const done = await work(await this.read(request, shown));
      if (!wantsPage(request)) return done.body;
      if ('page' in done) {
        response.setHeader('content-type', 'text/html; charset=utf-8');
        return this.pages.page(done.page.view, done.page.model, request);
      }
      response.statusCode = 303;
      response.setHeader('location', done.to);
      return '';
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

  private again<Form>(
    problem: Fault,
    request: HttpRequest,
    response: ServerResponse,
    { view, keeps = [], model }: FormView<Form>,
  ): string {
    response.statusCode = portalStatusOf(problem);
    response.setHeader('content-type', 'text/html; charset=utf-8');
    const seconds = problem.options.retryAfterSeconds;
    if (seconds !== undefined) response.setHeader('retry-after', String(seconds));
    const values = keptValues(request.body, keeps);
    return this.pages.page(
      view,
      { values, ...model?.(values), problem: this.shown(problem, request) },
      request,
    );
  }

  private shown(problem: Fault, request: HttpRequest): Problem {
    const texts = this.pages.textsFor(request);
    const issues = (problem.options.details?.errors ?? []) as ValidationIssue[];
    const text = textOf(problem, texts);
    const param = issues.length === 0 ? problem.options.param : undefined;
    return {
      text,
      code: problem.code,
      fields: {
        ...Object.fromEntries(
          issues.map(({ loc }) => [String(loc[1] ?? ''), texts('account.field-invalid')]),
        ),
        ...(typeof param === 'string' && { [param]: text }),
      },
    };
  }
}

/** In the reader's words: by the reason that a refusal names, else by its code. */
function textOf({ code, humanMessage, options }: Fault, texts: Translate): string {
  const details = (options.details ?? {}) as Record<string, string | number>;
  const values = { ...details, count: details['count'] ?? options.retryAfterSeconds ?? 0 };
  const keys = [`account.refused.${details['reason'] ?? ''}`, `account.problem.${code}`];
  return (
    keys.map((key) => [key, texts(key, values)]).find(([key, text]) => key !== text)?.[1] ?? humanMessage
  );
}

function keptValues(body: unknown, names: readonly string[]): Record<string, string> {
  const given = (body ?? {}) as Record<string, unknown>;
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = given[name];
      return typeof value === 'string' ? [[name, value.slice(0, 2_000)]] : [];
    }),
  );
}
