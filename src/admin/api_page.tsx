/**
 * The API's reference, drawn by an embedded reader from the document that this server gives.
 */
export function ApiPage() {
  return (
    <html lang='en'>
      <head>
        <meta charset='utf-8' />
        <meta name='viewport' content='width=device-width, initial-scale=1' />
        <title>API · nthbouncer</title>
        <link rel='icon' href='data:,' />
        <link rel='stylesheet' href='/admin/assets/api.css' />
        <script type='module' src='/admin/assets/rapidoc.js'></script>
        <script src='/admin/assets/api.js' defer></script>
      </head>
      <body>
        <header>
          <h1>API of nthbouncer</h1>
          <a href='/admin'>Admin page</a>
        </header>
        <rapi-doc
          spec-url='/openapi.json'
          render-style='read'
          show-header='false'
          allow-authentication='true'
          allow-server-selection='false'
          load-fonts='false'
          schema-style='table'
        >
        </rapi-doc>
        <noscript>
          The document itself: <a href='/openapi.json'>/openapi.json</a>
        </noscript>
      </body>
    </html>
  );
}
