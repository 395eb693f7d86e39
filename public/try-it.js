// Starts Swagger UI on the description of the gateway, or of the portal where the address says so. Requests go to the
// host of this page: the policy allows no other, and the description may name another name of it. The gateway is not
// offered where it has an address of its own.
const root = document.getElementById('try-it');
const isPortal =
  new URLSearchParams(location.search).get('document') === 'portal' ||
  document.querySelector('[data-document="/v1/openapi.json"]') === null;
const address = isPortal ? '/openapi.json' : '/v1/openapi.json';

for (const link of document.querySelectorAll('[data-document]'))
  if (link.dataset.document === address) link.setAttribute('aria-current', 'page');

/** Swagger UI's own layout brings a second main landmark; here its parts stand in this page. */
const layout = ({ React: { createElement } }) => ({
  components: {
    PartsOfPage({ getComponent }) {
      const part = (name) => createElement(getComponent(name, true));
      const row = (className, ...parts) =>
        createElement('div', { className }, createElement('div', { className: 'wrapper' }, ...parts));
      return createElement(
        'div',
        { className: 'swagger-ui' },
        row('information-container', part('InfoContainer')),
        row('scheme-container', part('ServersContainer'), part('AuthorizeBtnContainer')),
        row('', part('operations')),
      );
    },
  },
});

/** Its list has no name, and its headings leave out a level. */
function mend() {
  root.querySelector('#servers')?.setAttribute('aria-label', root.dataset.servers);
  for (const heading of root.querySelectorAll('h3.opblock-tag')) heading.setAttribute('aria-level', '2');
}

new MutationObserver(mend).observe(root, { childList: true, subtree: true });

try {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address} answers ${answer.status}`);
  const spec = await answer.json();
  spec.servers = [{ url: location.origin }];
  window.SwaggerUIBundle({
    spec,
    domNode: root,
    plugins: [layout],
    layout: 'PartsOfPage',
    // A link inside of a button is for nobody.
    deepLinking: false,
    docExpansion: 'list',
    defaultModelsExpandDepth: -1,
    // Nothing is asked of other hosts.
    validatorUrl: null,
    supportedSubmitMethods: ['get', 'post', 'patch', 'delete', 'head'],
  });
} catch {
  root.textContent = root.dataset.failed;
}
