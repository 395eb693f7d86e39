import Handlebars, { type SafeString } from 'handlebars';
import { Marked, type Tokens } from 'marked';

export interface MarkdownPage {
  readonly html: SafeString;
  readonly contents: readonly { readonly id: string; readonly title: string }[];
}

export interface MarkdownOptions {
  /** Values for `{{name}}` in the text. */
  readonly values?: Readonly<Record<string, string>>;
  /** Resolves a link; null renders it as plain text. */
  readonly link?: (href: string) => string | null;
  readonly copyLabel: string;
}

const escape = (text: string): string => Handlebars.escapeExpression(text);

/** Allows only the portal's own paths, https and email links. */
const isSafeLink = (href: string): boolean => /^(\/(?![/\\])|#|https:\/\/|mailto:)/.test(href);

/** Renders Markdown as part of a page. HTML is escaped and no external resources are loaded. */
export function renderMarkdown(source: string, options: MarkdownOptions): MarkdownPage {
  const contents: { id: string; title: string }[] = [];
  const ids = new Map<string, number>();
  const uniqueId = (title: string): string => {
    const slug =
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N}]+/gu, '-')
        .replace(/^-|-$/g, '') || 'part';
    const count = ids.get(slug) ?? 0;
    ids.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count + 1}`;
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
        const id = uniqueId(plainTitle(text));
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
            .map(({ tokens, align }, index) => {
              const content = this.parser.parseInline(tokens);
              const alignment = align === 'right' ? ' class="align-end"' : '';
              // An empty table heading would be inaccessible.
              if (tag === 'td' || content === '') return `<td${alignment}>${content}</td>`;
              return `<th scope="col"${alignment}>${content || escape(headings[index] ?? '')}</th>`;
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

/** Inline, because the hashed address of the icon sprite is known to templates only. */
const copyIcon =
  '<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false" fill="none" stroke="currentColor" stroke-width="1.5"><rect x="9" y="9" width="11" height="11" rx="2"/><path d="M5 15V6a2 2 0 0 1 2-2h9"/></svg>';

/** Inserts values after rendering, so that they cannot become markup. */
function withValues(html: string, values: Readonly<Record<string, string>>): string {
  if (Object.keys(values).length === 0) return html;
  return html.replace(/\{\{([a-zA-Z]+)\}\}/g, (_match, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`A text names the value ${name}, which there is none of`);
    return escape(value);
  });
}

/** Splits off the `name: value` lines between two `---` lines at the start. */
export function splitFrontMatter(source: string): {
  readonly fields: Readonly<Record<string, string>>;
  readonly text: string;
} {
  const [frontMatter, head = ''] = /^---\r?\n([\s\S]*?)\r?\n---\r?\n/.exec(source) ?? [''];
  const pairs = head.split(/\r?\n/).flatMap((line) => {
    const colon = line.indexOf(':');
    return colon < 1 ? [] : [[line.slice(0, colon).trim(), line.slice(colon + 1).trim()] as const];
  });
  return { fields: Object.fromEntries(pairs), text: source.slice(frontMatter?.length ?? 0) };
}
