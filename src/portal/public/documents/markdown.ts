import Handlebars, { type SafeString } from 'handlebars';
import { Marked, type Tokens } from 'marked';

export interface MarkdownPage {
  readonly html: SafeString;
  /** The headings of the second level, for a table of contents. */
  readonly contents: readonly { readonly id: string; readonly title: string }[];
}

export interface MarkdownOptions {
  /** These values stand for `{{name}}` in the text. */
  readonly values?: Readonly<Record<string, string>>;
  /** It says where a link leads; null makes plain text of it. */
  readonly link?: (href: string) => string | null;
  /** The button beside a piece of code has this name. */
  readonly copyLabel: string;
}

const escape = (text: string): string => Handlebars.escapeExpression(text);

/** Our own pages, secure addresses and mail: everything else would be a script or a surprise. */
const isSafeLink = (href: string): boolean => /^(\/(?![/\\])|#|https:\/\/|mailto:)/.test(href);

/** Markdown as a part of a page: HTML in it is shown as text, and nothing is loaded from elsewhere. */
export function renderMarkdown(source: string, options: MarkdownOptions): MarkdownPage {
  const contents: { id: string; title: string }[] = [];
  const ids = new Map<string, number>();
  const idOf = (title: string): string => {
    const slug =
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N}]+/gu, '-')
        .replace(/^-|-$/g, '') || 'part';
    const seen = ids.get(slug) ?? 0;
    ids.set(slug, seen + 1);
    return seen === 0 ? slug : `${slug}-${seen + 1}`;
  };
  let headings: string[] = [];
  let lastHeading = '';
  const marked = new Marked({ gfm: true, async: false });
  marked.use({
    renderer: {
      html: ({ text }: Tokens.HTML | Tokens.Tag) => escape(text),
      image: ({ text }: Tokens.Image) => escape(text),
      heading({ tokens, depth, text }: Tokens.Heading): string {
        const title = this.parser.parseInline(tokens, this.parser.textRenderer);
        const id = idOf(plainTitle(text));
        lastHeading = plainTitle(text);
        if (depth === 2) contents.push({ id, title: plainTitle(text) });
        return depth === 1 ? '' : `<h${depth} id="${escape(id)}">${title}</h${depth}>\n`;
      },
      code: ({ text, lang }: Tokens.Code) => codeBlock(text, lang ?? '', options.copyLabel),
      link({ href, tokens }: Tokens.Link): string {
        const label = this.parser.parseInline(tokens);
        const target = options.link === undefined ? href : options.link(href);
        if (target === null || !isSafeLink(target)) return label;
        const rel = target.startsWith('https:') ? ' rel="noopener nofollow"' : '';
        return `<a href="${escape(target)}"${rel}>${label}</a>`;
      },
      table(token: Tokens.Table): string {
        headings = token.header.map(({ text }) => plainTitle(text));
        const cells = (row: Tokens.TableCell[], tag: 'th' | 'td'): string =>
          row
            .map(({ tokens, align }, place) => {
              const shown = this.parser.parseInline(tokens);
              const end = align === 'right' ? ' class="align-end"' : '';
              // An empty heading would be a heading of nothing.
              if (tag === 'td' || shown === '') return `<td${end}>${shown}</td>`;
              return `<th scope="col"${end}>${shown || escape(headings[place] ?? '')}</th>`;
            })
            .join('');
        const rows = token.rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('\n');
        return `<div class="table-scroll" tabindex="0" role="region" aria-label="${escape(lastHeading || 'Table')}">
<table class="table"><thead><tr>${cells(token.header, 'th')}</tr></thead><tbody>
${rows}</tbody></table></div>\n`;
      },
    },
  });
  const html = withValues(marked.parse(source) as string, options.values ?? {});
  return { html: new Handlebars.SafeString(html), contents };
}

const plainTitle = (text: string): string =>
  text.replace(/[`*_]/g, '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');

function codeBlock(text: string, language: string, copyLabel: string): string {
  const code = escape(text);
  const label = escape(language === '' ? 'text' : language);
  return `<div class="snippet"><button type="button" class="button-icon" data-copy="${code}" aria-label="${escape(copyLabel)}: ${label}">${copyIcon}</button><pre tabindex="0" role="group" aria-label="${label}"><code>${code}</code></pre></div>\n`;
}

/** It is drawn in place: the address of the sprite carries a hash that only templates know. */
const copyIcon =
  '<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false" fill="none" stroke="currentColor" stroke-width="1.5"><rect x="9" y="9" width="11" height="11" rx="2"/><path d="M5 15V6a2 2 0 0 1 2-2h9"/></svg>';

/** Values go in after the text was rendered: none of them can become a mark-up. */
function withValues(html: string, values: Readonly<Record<string, string>>): string {
  if (Object.keys(values).length === 0) return html;
  return html.replace(/\{\{([a-zA-Z]+)\}\}/g, (_whole, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`A text names the value ${name}, which there is none of`);
    return escape(value);
  });
}

/** The `name: value` lines between two `---` lines at the beginning, and the text below them. */
export function splitFrontMatter(source: string): {
  readonly fields: Readonly<Record<string, string>>;
  readonly text: string;
} {
  const [whole, head = ''] = /^---\r?\n([\s\S]*?)\r?\n---\r?\n/.exec(source) ?? [''];
  const pairs = head.split(/\r?\n/).flatMap((line) => {
    const colon = line.indexOf(':');
    return colon < 1 ? [] : [[line.slice(0, colon).trim(), line.slice(colon + 1).trim()] as const];
  });
  return { fields: Object.fromEntries(pairs), text: source.slice(whole?.length ?? 0) };
}
