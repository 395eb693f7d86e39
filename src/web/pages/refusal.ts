import type { Fault, ValidationIssue } from '../../kernel';
import { formPageField, type RefusedForm, type Translate } from '../../views';
import { localPath } from '../local-path';

export type PostedForm = Readonly<Record<string, unknown>>;

export interface Refusal {
  readonly path: string;
  readonly posted: PostedForm;
  readonly problem: Fault;
}

/** Removes and returns the page that every portal form names, so that handlers do not see the field. */
export function takeFormPage(body: unknown): string | undefined {
  const form = body as Record<string, unknown>;
  const page = form[formPageField];
  Reflect.deleteProperty(form, formPageField);
  return typeof page === 'string' ? localPath(page, '') || undefined : undefined;
}

export function invalidParameters({ code, options }: Fault): string[] {
  if (addressTexts[code] === undefined) return [];
  const issues = (options.details?.errors ?? []) as ValidationIssue[];
  const queryParameters = issues.flatMap(({ loc }) => (loc[0] === 'query' ? [String(loc[1])] : []));
  return issues.length > 0 || options.param === undefined ? queryParameters : [options.param];
}

/** Translated text about an invalid query parameter; null for other faults. */
export function addressText(problem: Fault, translate: Translate, isIgnored = false): string | null {
  const { code, options } = problem;
  const key = addressTexts[code];
  const param = options.param ?? (options.details?.required as string[] | undefined)?.[0];
  if (key === undefined || param === undefined) return null;
  const issues = (options.details?.errors ?? []) as ValidationIssue[];
  const isUnknown = issues.some(({ type }) => type === 'whitelistValidation');
  const text = translate(
    isIgnored ? 'error.parameter-ignored' : isUnknown ? 'error.parameter-unknown' : key,
    {
      param,
    },
  );
  const hint = `error.param.${param}`;
  const hintText = translate(hint);
  return hintText === hint ? text : `${text} ${hintText}`;
}

/** Translated text for the reason in a fault's details; null if there is none. */
export function reasonText({ options }: Fault, translate: Translate): string | null {
  const details = (options.details ?? {}) as Record<string, string | number>;
  const reason = details['reason'] ?? '';
  const values = { ...details, count: details['count'] ?? options.retryAfterSeconds ?? 0 };
  const keys = [String(reason), `refused.${reason}`];
  return keys.map((key) => [key, translate(key, values)]).find(([key, text]) => key !== text)?.[1] ?? null;
}

/** Translated text for a fault's code; null for codes that users never see. */
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

const MAX_TEXTS_PER_FIELD = 5;

function errorsOf(problem: Fault, translate: Translate): Map<string, string> {
  const { param, details } = problem.options;
  const texts = new Map<string, Set<string>>();
  const addText = (name: string, text: string): void => {
    if (name !== '') texts.set(name, (texts.get(name) ?? new Set()).add(text));
  };
  const addParamText = (name: string): void => {
    const key = `forms.param.${name}`;
    const text = problem.code === 'invalid_request' ? translate(key) : key;
    addText(name, text === key ? faultText(problem, translate) : text);
  };
  const issues = (details?.errors ?? []) as ValidationIssue[];
  const emptyChoices = new Set(issues.filter(({ type }) => type === 'isArray').map(({ loc }) => loc[1]));
  for (const issue of issues) {
    // If nothing was chosen, other limits of the choice are irrelevant.
    if (emptyChoices.has(issue.loc[1]) && issue.type !== 'isArray') continue;
    if (issue.loc[0] === 'body') addText(String(issue.loc[1] ?? ''), textOf(issue, translate));
  }
  if (problem.code === 'missing_fields')
    for (const name of (details?.required ?? []) as string[])
      addText(name, translate('forms.problem.missing'));
  if (param !== undefined && texts.size === 0) addParamText(param.split('.')[0] ?? '');
  return new Map(
    [...texts].map(([name, fieldTexts]) => [name, [...fieldTexts].slice(0, MAX_TEXTS_PER_FIELD).join(' ')]),
  );
}

function textOf({ type, msg }: ValidationIssue, translate: Translate): string {
  const key = `forms.problem.${type}`;
  const limit = /(\d+)\D*$/.exec(msg)?.[1] ?? '';
  const text = translate(key, { limit });
  return text === key ? msg : text;
}
