{{/* Names, labels and images that all objects share. Templates get a dict with `root` (the chart's context) and `component`. */}}

{{- define "riffle.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains "riffle" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-riffle" .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Name of a component's objects. */}}
{{- define "riffle.name" -}}
{{- printf "%s-%s" (include "riffle.fullname" .root) .component -}}
{{- end -}}

{{/* Labels that never change: selectors are immutable. */}}
{{- define "riffle.selectorLabels" -}}
app.kubernetes.io/name: riffle
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "riffle.labels" -}}
{{ include "riffle.selectorLabels" . }}
app.kubernetes.io/part-of: riffle
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Labels of pods: without versions, or each version of the chart would restart every pod. */}}
{{- define "riffle.podLabels" -}}
{{ include "riffle.selectorLabels" . }}
app.kubernetes.io/part-of: riffle
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- with .root.Values.podLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Metadata of a component's object. `suffix`: a further part of its name. */}}
{{- define "riffle.metadata" -}}
name: {{ include "riffle.name" . }}{{ with .suffix }}-{{ . }}{{ end }}
namespace: {{ .root.Release.Namespace }}
{{- with merge (dict) (.annotations | default dict) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
labels:
  {{- include "riffle.labels" . | nindent 2 }}
{{- end -}}

{{/* Annotations of an object that is made before an installation and an upgrade. It gets its place in the order. */}}
{{- define "riffle.hook" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}

{{/* An image by digest or tag. `image`: the values, `default`: the tag if none is set. */}}
{{- define "riffle.imageName" -}}
{{- $registry := (.root.Values.global | default dict).imageRegistry -}}
{{- $repository := empty $registry | ternary .image.repository (printf "%s/%s" (trimSuffix "/" (toString $registry)) .image.repository) -}}
{{- if .image.digest -}}
{{- printf "%s@%s" $repository .image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (.image.tag | default .default) -}}
{{- end -}}
{{- end -}}

{{- define "riffle.image" -}}
{{- include "riffle.imageName" (dict "root" . "image" .Values.image "default" .Chart.AppVersion) -}}
{{- end -}}

{{- define "riffle.renderingImage" -}}
{{- include "riffle.imageName" (dict "root" . "image" .Values.rendering.image "default" .Chart.AppVersion) -}}
{{- end -}}

{{- define "riffle.tritonImage" -}}
{{- $default := printf "%s-%s" .Chart.AppVersion .Values.triton.flavour -}}
{{- include "riffle.imageName" (dict "root" . "image" .Values.triton.image "default" $default) -}}
{{- end -}}

{{/* The stages of the topology, as JSON: {"stages": [...]}. */}}
{{- define "riffle.topology" -}}
{{- .Files.Get "files/topology.json" -}}
{{- end -}}

{{/* The workers, as JSON: {"stages": [...]}: the stages of the topology, a regional one once for each region. `component`
is the name of a worker's objects. */}}
{{- define "riffle.workers" -}}
{{- $workers := list -}}
{{- range $stage := (include "riffle.topology" . | fromJson).stages -}}
{{- if and $stage.regional $.Values.crawl.regions -}}
{{- range $region, $_ := $.Values.crawl.regions -}}
{{- $own := dict "component" (printf "%s-%s" $stage.name $region) "region" $region "group" (printf "%s-%s" $stage.group $region) -}}
{{- $workers = append $workers (merge $own $stage) -}}
{{- end -}}
{{- else -}}
{{- $workers = append $workers (merge (dict "component" $stage.name "region" "") $stage) -}}
{{- end -}}
{{- end -}}
{{- dict "stages" $workers | toJson -}}
{{- end -}}

{{/* The values of a worker, as JSON: the defaults, overridden by those of its stage and of its region. `stage`: its entry of
`riffle.workers`. */}}
{{- define "riffle.stageValues" -}}
{{- $own := index .root.Values.stages .stage.name | default dict -}}
{{- $ofRegion := dict -}}
{{- if .stage.region -}}
{{- $ofRegion = dig "fetch" dict (index .root.Values.crawl.regions .stage.region) -}}
{{- end -}}
{{- $values := mustMergeOverwrite (deepCopy .root.Values.stageDefaults) (deepCopy $own) (deepCopy $ofRegion) -}}
{{- if and (eq .stage.name "queries") (kindIs "invalid" $own.enabled) -}}
{{- /* Nobody sends its events before one of these values is set. */ -}}
{{- $_ := set $values "enabled" (or .root.Values.gateway.collectQueries .root.Values.gateway.publishClicks) -}}
{{- end -}}
{{- toJson $values -}}
{{- end -}}

{{/* Lag at which a stage gets one more worker: the events that a worker handles in the time for catching up. */}}
{{- define "riffle.lagThreshold" -}}
{{- $speed := .values.autoscaling.eventsPerSecond | default .stage.eventsPerSecond -}}
{{- max 1 (mulf $speed .values.autoscaling.catchUpSeconds | int) -}}
{{- end -}}

{{- define "riffle.maxReplicas" -}}
{{- min (int .values.autoscaling.maxReplicas) (int .root.Values.kafka.partitions) -}}
{{- end -}}

{{/* "true" if a server with the API of OpenAI embeds, in the place of Triton. It has one address for all, and no server of this release. */}}
{{- define "riffle.embeddingServer" -}}
{{- if hasPrefix "openai+" .Values.triton.url -}}
{{- if or .Values.triton.enabled .Values.queryEmbedding.enabled -}}
{{- fail "triton.url is an embedding server (openai+): set triton.enabled and queryEmbedding.enabled to false" -}}
{{- end -}}
{{- if .Values.triton.tls.clientSecret -}}
{{- fail "triton.url is an embedding server (openai+), which takes an API key: set triton.existingSecret, and no triton.tls.clientSecret" -}}
{{- end -}}
true
{{- end -}}
{{- end -}}

{{/* Address of Triton for the workers, and for queries. */}}
{{- define "riffle.tritonUrl" -}}
{{- if .Values.triton.enabled -}}
{{- printf "%s.%s.svc:8001" (include "riffle.name" (dict "root" . "component" "triton")) .Release.Namespace -}}
{{- else -}}
{{- required "triton.url is empty: set it to the gRPC address of your Triton, or triton.enabled to true" .Values.triton.url -}}
{{- end -}}
{{- end -}}

{{- define "riffle.queryTritonUrl" -}}
{{- if .Values.queryEmbedding.enabled -}}
{{- printf "%s.%s.svc:8001" (include "riffle.name" (dict "root" . "component" "query-embedding")) .Release.Namespace -}}
{{- else -}}
{{- include "riffle.tritonUrl" . -}}
{{- end -}}
{{- end -}}
