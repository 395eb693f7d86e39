import Handlebars, { type HelperDelegate, type HelperOptions, type SafeString } from 'handlebars';
import { boundsOf } from './field-bounds';
import { formPageField, type Option, type Pair, PrintedForm, type Scalar, textOf } from './forms';
import { dataOf, escape, type RenderData, safe } from './render-data';
import type { Translate } from './translations';

type Attributes = Readonly<Record<string, Scalar>>;

/** True stands for an attribute without a value; what is absent or false is left out. */
const attributesText = (attributes: Attributes): string =>
  Object.entries(attributes)
    .filter(([, value]) => value !== undefined && value !== null && value !== false)
    .map(([name, value]) => (value === true ? ` ${name}` : ` ${name}="${escape(textOf(value))}"`))
    .join('');

interface FormHash {
  readonly method?: 'get' | 'post';
  readonly action: string;
  readonly page?: boolean;
  readonly carries?: Attributes | readonly { readonly name: string; readonly value: Scalar }[];
}

/**
 * `{{#form action="…" class="…" carries=(object id=id)}}…{{/form}}` changes something. The hidden fields stay
 * the same when the page is shown again, and tell the form from others of its address. Other names are
 * attributes. `page=false` leaves the page to the form's buttons, and `method="get"` changes nothing.
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
    : Object.entries(carries as Attributes);
  const own = method === 'post' ? forms.begin(action, attributes['id'], pairs) : new PrintedForm();
  const frame = Handlebars.createFrame(options.data) as RenderData;
  frame.form = own;
  const inside = options.fn(this, { data: frame });
  const address = method === 'post' && page ? forms.context?.page : undefined;
  const hidden = [...(address === undefined ? [] : [[formPageField, address] as Pair]), ...pairs].map(
    (pair) => `<input${attributesText({ type: 'hidden', name: pair[0], value: own.carried(pair) })}>`,
  );
  const tag = `<form${attributesText({ method, action, ...attributes })}>`;
  return safe(`${banner(own.banner())}${tag}${hidden.join('')}${inside}</form>`);
}

/** `{{#fold class="…"}}<summary>…</summary>…{{/fold}}` is open where something in it is to be looked at. */
function fold(this: unknown, options: HelperOptions): SafeString {
  const { open, ...attributes } = options.hash as Attributes;
  const { forms } = dataOf(options);
  const before = forms.shown;
  const inside = options.fn(this);
  const isOpen = Boolean(open) || forms.shown > before;
  return safe(`<details${attributesText({ open: isOpen, ...attributes })}>${inside}</details>`);
}

/** `{{#main}}…{{/main}}` is what a page is about, below what is said of the page as a whole. */
function main(this: unknown, options: HelperOptions): SafeString {
  const inside = options.fn(this);
  const { forms, banner } = dataOf(options);
  return safe(`<main id="main" tabindex="-1">${banner(forms.notice())}${inside}</main>`);
}

/** A template says this of a control. */
interface Control {
  readonly name: string;
  readonly id?: string;
  readonly type?: string;
  readonly value?: Scalar;
  readonly checked?: boolean;
  readonly required?: Scalar;
  readonly disabled?: Scalar;
  readonly autofocus?: boolean;
  readonly help?: string;
  /** The id of what describes it beside its help. */
  readonly describedBy?: string;
  readonly error?: string;
  readonly options?: readonly (Option | string)[];
  /** The beginning of the keys of its options' labels. */
  readonly labels?: string;
  /** The label of an option without a value. */
  readonly empty?: string;
  /** The form that it belongs to, where it stands outside of it. */
  readonly form?: string;
}

/**
 * `{{#with (control this)}}` or `{{#with (control name="…" type="…")}}` is the control with what was typed and what is
 * wrong. Its `attributes` are what its field takes, what describes it, and the focus of the first one at fault.
 */
function control(...input: unknown[]) {
  const options = input.at(-1) as HelperOptions;
  const given = { ...(input.length > 1 ? (input[0] as object) : {}), ...options.hash } as Control;
  const { forms, form: around, translate } = dataOf(options);
  const own = (given.form === undefined ? around : forms.withId(given.form)) ?? new PrintedForm();
  const { type = 'text', name, help, id = name } = given;
  const choices = choicesOf(given, translate);
  const { isChanged = false, ...kept } = keptIn(own, given, choices);
  const refusal = own.takeError(name);
  const error = refusal ?? given.error;
  if (error !== undefined || isChanged) forms.shown += 1;
  const { type: taken = type, required, ...bounds } = boundsOf(type, own.declared?.get(name) ?? {});
  const autofocus = (refusal !== undefined || given.autofocus === true) && !forms.hasFocus;
  forms.hasFocus ||= autofocus;
  const described = [error && `${id}-error`, help && `${id}-help`, given.describedBy].filter(Boolean);
  const attributes = attributesText({
    required: required === true || Boolean(given.required),
    disabled: Boolean(given.disabled),
    ...bounds,
    'aria-describedby': described.join(' ') || undefined,
    'aria-invalid': error === undefined ? undefined : 'true',
    autofocus,
  });
  return { ...given, id, type: taken, options: choices, ...kept, error, attributes: safe(attributes) };
}

function keptIn(own: PrintedForm, { name, type = 'text', value }: Control, choices: readonly Option[]) {
  if (type === 'checkbox' || type === 'radio') return own.isTicked(name, textOf(value ?? 'on'));
  const chosen = choices.find(({ selected }) => selected === true) ?? choices[0];
  return own.typedInto(name, type, textOf(type === 'select' ? chosen?.value : value), choices);
}

function choicesOf({ options = [], labels, empty }: Control, translate: Translate): Option[] {
  const none = empty === undefined ? [] : [{ value: '', label: empty }];
  const given = options.map((option) => (typeof option === 'string' ? { value: option } : option));
  const labelOf = ({ value, label = value }: Option): string =>
    labels === undefined ? label : translate(labels + value);
  return [...none, ...given.map((option) => ({ ...option, label: labelOf(option) }))];
}

/** The error of a group of controls, which stands above them. */
const fault = (name: string, options: HelperOptions) => ({
  id: name,
  error: dataOf(options).form?.errorOf(name),
});

export const formHelpers: Record<string, HelperDelegate> = { form, fold, main, control, fault };
