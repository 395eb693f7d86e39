import Handlebars, { type HelperDelegate, type HelperOptions, type SafeString } from 'handlebars';
import { attributesFor } from './field-attributes';
import { formPageField, type Option, type Pair, PrintedForm, type Scalar, textOf } from './forms';
import { dataOf, escape, type RenderData, safe } from './render-data';
import type { Translate } from './translations';

type HtmlAttributes = Readonly<Record<string, Scalar>>;

/** Renders `true` as an attribute without a value and omits absent or false ones. */
const renderAttributes = (attributes: HtmlAttributes): string =>
  Object.entries(attributes)
    .filter(([, value]) => value !== undefined && value !== null && value !== false)
    .map(([name, value]) => (value === true ? ` ${name}` : ` ${name}="${escape(textOf(value))}"`))
    .join('');

interface FormHash {
  readonly method?: 'get' | 'post';
  readonly action: string;
  readonly page?: boolean;
  readonly carries?: HtmlAttributes | readonly { readonly name: string; readonly value: Scalar }[];
}

/**
 * `{{#form action="…" class="…" carries=(object id=id)}}…{{/form}}` renders a form that changes something. The hidden
 * fields identify the form among others with the same action; other names are attributes.
 * `page=false` leaves the page to the form's buttons, and `method="get"` changes nothing.
 */
function form(this: unknown, options: HelperOptions): SafeString {
  const {
    method = 'post',
    action,
    carries = {},
    page = true,
    ...attributes
  } = options.hash as FormHash & Record<string, Scalar>;
  const { forms, banner } = dataOf(options);
  const pairs = Array.isArray(carries)
    ? carries.map(({ name, value }: { name: string; value: Scalar }): Pair => [name, value])
    : Object.entries(carries as HtmlAttributes);
  const printedForm =
    method === 'post' ? forms.startForm(action, attributes['id'], pairs) : new PrintedForm();
  const childFrame = Handlebars.createFrame(options.data) as RenderData;
  childFrame.form = printedForm;
  const content = options.fn(this, { data: childFrame });
  const pageAddress = method === 'post' && page ? forms.context?.page : undefined;
  const hidden = [...(pageAddress === undefined ? [] : [[formPageField, pageAddress] as Pair]), ...pairs].map(
    (pair) =>
      `<input${renderAttributes({ type: 'hidden', name: pair[0], value: printedForm.carriedValue(pair) })}>`,
  );
  const tag = `<form${renderAttributes({ method, action, ...attributes })}>`;
  return safe(`${banner(printedForm.banner())}${tag}${hidden.join('')}${content}</form>`);
}

/** `{{#fold class="…"}}<summary>…</summary>…{{/fold}}` is open if something inside needs attention. */
function fold(this: unknown, options: HelperOptions): SafeString {
  const { open, ...attributes } = options.hash as HtmlAttributes;
  const { forms } = dataOf(options);
  const countBefore = forms.attentionCount;
  const content = options.fn(this);
  const isOpen = Boolean(open) || forms.attentionCount > countBefore;
  return safe(`<details${renderAttributes({ open: isOpen, ...attributes })}>${content}</details>`);
}

/** `{{#main}}…{{/main}}` renders the page content below the page's banner. */
function main(this: unknown, options: HelperOptions): SafeString {
  const content = options.fn(this);
  const { forms, banner } = dataOf(options);
  return safe(`<main id="main" tabindex="-1">${banner(forms.notice())}${content}</main>`);
}

interface ControlOptions {
  readonly name: string;
  readonly id?: string;
  readonly type?: string;
  readonly value?: Scalar;
  readonly checked?: boolean;
  readonly required?: Scalar;
  readonly disabled?: Scalar;
  readonly autofocus?: boolean;
  readonly help?: string;
  /** Id of an element that describes the control in addition to its help. */
  readonly describedBy?: string;
  readonly error?: string;
  readonly options?: readonly (Option | string)[];
  /** Prefix of the keys of the options' labels. */
  readonly labels?: string;
  readonly empty?: string;
  /** Id of the form, if the control is outside of it. */
  readonly form?: string;
}

/**
 * `{{#with (control this)}}` or `{{#with (control name="…" type="…")}}` is the control with its submitted value and
 * error. Its `attributes` hold the constraints, the descriptions and the focus of the first invalid control.
 */
function control(...input: unknown[]) {
  const options = input.at(-1) as HelperOptions;
  const definition = { ...(input.length > 1 ? (input[0] as object) : {}), ...options.hash } as ControlOptions;
  const { forms, form: enclosingForm, translate } = dataOf(options);
  const printedForm =
    (definition.form === undefined ? enclosingForm : forms.withId(definition.form)) ?? new PrintedForm();
  const { type = 'text', name, help, id = name } = definition;
  const choices = buildChoices(definition, translate);
  const { isChanged = false, ...state } = controlState(printedForm, definition, choices);
  const formError = printedForm.takeError(name);
  const error = formError ?? definition.error;
  if (error !== undefined || isChanged) forms.attentionCount += 1;
  const {
    type: controlType = type,
    required,
    ...constraints
  } = attributesFor(type, printedForm.declared?.get(name) ?? {});
  const autofocus = (formError !== undefined || definition.autofocus === true) && !forms.hasFocus;
  forms.hasFocus ||= autofocus;
  const descriptionIds = [error && `${id}-error`, help && `${id}-help`, definition.describedBy].filter(
    Boolean,
  );
  const attributes = renderAttributes({
    required: required === true || Boolean(definition.required),
    disabled: Boolean(definition.disabled),
    ...constraints,
    'aria-describedby': descriptionIds.join(' ') || undefined,
    'aria-invalid': error === undefined ? undefined : 'true',
    autofocus,
  });
  return {
    ...definition,
    id,
    type: controlType,
    options: choices,
    ...state,
    error,
    attributes: safe(attributes),
  };
}

function controlState(
  printedForm: PrintedForm,
  { name, type = 'text', value }: ControlOptions,
  choices: readonly Option[],
) {
  if (type === 'checkbox' || type === 'radio') return printedForm.checkedState(name, textOf(value ?? 'on'));
  const selectedOption = choices.find(({ selected }) => selected === true) ?? choices[0];
  return printedForm.typedState(
    name,
    type,
    textOf(type === 'select' ? selectedOption?.value : value),
    choices,
  );
}

function buildChoices({ options = [], labels, empty }: ControlOptions, translate: Translate): Option[] {
  const emptyOption = empty === undefined ? [] : [{ value: '', label: empty }];
  const normalisedOptions = options.map((option) =>
    typeof option === 'string' ? { value: option } : option,
  );
  const labelOf = ({ value, label = value }: Option): string =>
    labels === undefined ? label : translate(labels + value);
  return [...emptyOption, ...normalisedOptions.map((option) => ({ ...option, label: labelOf(option) }))];
}

const fault = (name: string, options: HelperOptions) => ({
  id: name,
  error: dataOf(options).form?.errorOf(name),
});

export const formHelpers: Record<string, HelperDelegate> = { form, fold, main, control, fault };
