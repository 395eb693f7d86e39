import type { Fault, ValidationIssue } from '../../kernel';
import { formPageField, type RefusedForm, type Translate } from '../../views';
import { localPath } from '../local-path';

export type Posted = Readonly<Record<string, unknown>>;

/** A form that was not carried out, and why. */
export interface Refusal {
  readonly path: string;
  readonly posted: Posted;
  readonly problem: Fault;
}

/** Every form of our pages names its page; handlers never see it. */
export function takeFormPage(body: unknown): string | undefined {
  const form = body as Record<string, unknown>;
  const page = form[formPageField];
  Reflect.deleteProperty(form, formPageField);
  return typeof page === 'string' ? localPath(page, '') || undefined : undefined;
}

/** The query parameters that a fault names. */
export function parametersAtFault({ code, options }: Fault): string[] {
  if (addressTexts[code] === undefined) return [];
  const issues = (options.details?.errors ?? []) as ValidationIssue[];
  const named = issues.flatMap(({ loc }) => (loc[0] === 'query' ? [String(loc[1])] : []));
  return issues.length > 0 || options.param === undefined ? named : [options.param];
}

/** It says in the reader's words what an address says that its page does not take; null for other problems. */
export function addressText(problem: Fault, translate: Translate, isShown = false): string | null {
  const { code, options } = problem;
  const key = addressTexts[code];
  const param = options.param ?? (options.details?.required as string[] | undefined)?.[0];
  if (key === undefined || param === undefined) return null;
  const issues = (options.details?.errors ?? []) as ValidationIssue[];
  const isUnknown = issues.some(({ type }) => type === 'whitelistValidation');
  const text = translate(isShown ? 'error.parameter-ignored' : isUnknown ? 'error.parameter-unknown' : key, {
    param,
  });
  const hint = `error.param.${param}`;
  const said = translate(hint);
  return said === hint ? text : `${text} ${said}`;
}

/** The reason that a fault names in its details comes in the reader's words; null without one. */
export function reasonText({ options }: Fault, translate: Translate): string | null {
  const details = (options.details ?? {}) as Record<string, string | number>;
  const reason = details['reason'] ?? '';
  const values = { ...details, count: details['count'] ?? options.retryAfterSeconds ?? 0 };
  const keys = [String(reason), `refused.${reason}`];
  return keys.map((key) => [key, translate(key, values)]).find(([key, text]) => key !== text)?.[1] ?? null;
}

/** It says in the reader's words what the code of a fault means; null for codes that people do not meet. */
export function codeText({ code }: Fault, translate: Translate): string | null {
  const key = `error.message.${code}`;
  const text = translate(key);
  return text === key ? null : text;
}

const addressTexts: Partial<Record<Fault['code'], string>> = {
  invalid_request: 'error.parameter',
  validation_error: 'error.parameter',
  unsupported_parameter: 'error.parameter-unknown',
  missing_fields: 'error.parameter-missing',
};

/** It is in the reader's words, for the view that shows the form again. */
export function refusedForm({ path, posted, problem }: Refusal, translate: Translate): RefusedForm {
  const isStale = problem.code === 'conflict' && problem.options.details?.version !== undefined;
  const errors = isStale ? new Map<string, string>() : errorsOf(problem, translate);
  return {
    path,
    posted,
    errors,
    text: bannerText(problem, isStale, errors, translate),
    code: problem.code,
    ...(isStale ? { typed: (value) => translate('forms.typed', { value }) } : {}),
  };
}

function bannerText(
  problem: Fault,
  isStale: boolean,
  errors: ReadonlyMap<string, string>,
  translate: Translate,
): string {
  if (isStale) return translate('forms.changed-meanwhile');
  if (errors.size === 0) return faultText(problem, translate);
  return translate(problem.code === 'validation_error' ? 'forms.refused' : 'forms.marked');
}

/** It is in the reader's words: by the reason that a refusal names, else by its code. */
function faultText(problem: Fault, translate: Translate): string {
  const { code, humanMessage, options } = problem;
  const key = `account.problem.${code}`;
  const text = translate(key, { count: options.retryAfterSeconds ?? 0 });
  return (
    reasonText(problem, translate) ??
    (text === key ? null : text) ??
    options.message ??
    codeText(problem, translate) ??
    humanMessage
  );
}

const MOST_TEXTS = 5;

function errorsOf(problem: Fault, translate: Translate): Map<string, string> {
  const { param, details } = problem.options;
  const texts = new Map<string, Set<string>>();
  const keep = (name: string, text: string): void => {
    if (name !== '') texts.set(name, (texts.get(name) ?? new Set()).add(text));
  };
  const keepParam = (name: string): void => {
    const key = `forms.param.${name}`;
    const text = problem.code === 'invalid_request' ? translate(key) : key;
    keep(name, text === key ? faultText(problem, translate) : text);
  };
  const issues = (details?.errors ?? []) as ValidationIssue[];
  const chosenNothing = new Set(issues.filter(({ type }) => type === 'isArray').map(({ loc }) => loc[1]));
  for (const issue of issues) {
    // Where nothing was chosen, limits of what is chosen say nothing.
    if (chosenNothing.has(issue.loc[1]) && issue.type !== 'isArray') continue;
    if (issue.loc[0] === 'body') keep(String(issue.loc[1] ?? ''), textOf(issue, translate));
  }
  if (problem.code === 'missing_fields')
    for (const name of (details?.required ?? []) as string[]) keep(name, translate('forms.problem.missing'));
  if (param !== undefined && texts.size === 0) keepParam(param.split('.')[0] ?? '');
  return new Map([...texts].map(([name, said]) => [name, [...said].slice(0, MOST_TEXTS).join(' ')]));
}

/** Validators say in English what they miss; people read it in their own language, with the limit it names. */
function textOf({ type, msg }: ValidationIssue, translate: Translate): string {
  const key = `forms.problem.${type}`;
  const limit = /(\d+)\D*$/.exec(msg)?.[1] ?? '';
  const text = translate(key, { limit });
  return text === key ? msg : text;
}
